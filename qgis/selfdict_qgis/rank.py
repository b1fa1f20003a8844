"""How many materials a scene holds."""

import json

from qgis.core import QgsProcessingOutputNumber, QgsProcessingParameterNumber

from selfdict_qgis.algorithm import (
    Algorithm,
    ignore,
    run_selfdict,
    scene_parameters,
    scene_words,
    table_parameter,
    write_table,
)


class Rank(Algorithm):
    """``selfdict rank``."""

    title = "How many materials"
    text = (
        "Recommends how many materials to look for, and says why. The table shows what each "
        "further material explains."
    )

    def initAlgorithm(self, configuration=None):
        """Declare parameters and outputs."""
        scene_parameters(self)
        self.addParameter(
            QgsProcessingParameterNumber(
                "MAXIMUM", "Largest number to recommend", defaultValue=20, minValue=1
            )
        )
        self.addParameter(table_parameter("Errors by number of materials"))
        self.addOutput(QgsProcessingOutputNumber("MATERIALS", "Recommended number of materials"))

    def process(self, parameters, context, feedback):
        """Run the command."""
        words = [
            "rank",
            *scene_words(self, parameters, context),
            *("--max", self.parameterAsInt(parameters, "MAXIMUM", context)),
            *("--json", "--progress-json"),
        ]
        advice = json.loads(run_selfdict(words, feedback, show=ignore))
        for sentence in [*advice["preflight"], *advice["sentences"]]:
            feedback.pushInfo(sentence)
        columns = {"materials": int, "error": float}
        rows = enumerate(advice["errors"], start=1)
        table = write_table(self, parameters, context, columns, rows)
        return {"MATERIALS": advice["r"], **table}
