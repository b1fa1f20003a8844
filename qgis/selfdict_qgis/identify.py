"""What the materials of a result are."""

import json

from qgis.core import QgsProcessingParameterFile

from selfdict_qgis.algorithm import (
    Algorithm,
    ignore,
    library_parameter,
    run_selfdict,
    table_parameter,
    write_table,
)


class Identify(Algorithm):
    """``selfdict identify``."""

    title = "Identify"
    text = (
        "Looks up in a spectral library what the materials of an earlier run of Unmix are. The "
        "table has the nearest spectrum of each, and its angle in degrees."
    )

    def initAlgorithm(self, configuration=None):
        """Declare parameters and outputs."""
        folder = QgsProcessingParameterFile.Folder
        self.addParameter(QgsProcessingParameterFile("RESULT", "Output folder of Unmix", folder))
        self.addParameter(library_parameter("LIBRARY", optional=False))
        self.addParameter(table_parameter("Materials"))

    def process(self, parameters, context, feedback):
        """Run the command."""
        result = self.parameterAsString(parameters, "RESULT", context)
        library = self.parameterAsString(parameters, "LIBRARY", context)
        words = ["identify", result, "--library", library, "--json"]
        found = json.loads(run_selfdict(words, feedback, show=ignore))
        for note in found["notes"]:
            feedback.pushInfo(note)
        rows = []
        for match in found["matches"]:
            feedback.pushInfo(match["sentence"])
            nearest = match["nearest"][0]
            material = match["material"] or "no match"
            rows.append((match["endmember"], material, nearest["spectrum"], nearest["angle"]))
        columns = {"endmember": str, "material": str, "nearest_spectrum": str, "angle": float}
        return write_table(self, parameters, context, columns, rows)
