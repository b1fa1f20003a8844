"""Making the environment of the command."""

from pathlib import Path

from qgis.core import QgsProcessingOutputFolder, QgsProcessingParameterFile

from selfdict_qgis.algorithm import ANY_FILE, Algorithm, environment_folder
from selfdict_qgis.environment import default_python, make_environment


class Setup(Algorithm):
    """An environment with the command, in the user's profile."""

    title = "Set up"
    text = (
        "Makes a Python environment for the selfdict command in the user's profile, about 1 GB, "
        "and downloads what it needs. QGIS's own Python is not changed. Needed once, and again "
        "after an update of the plugin; or name an installed command in Settings > Options > "
        "Processing > Providers > selfdict instead."
    )

    def initAlgorithm(self, configuration=None):
        """Declare parameters and outputs."""
        text = "Python to use, 3.11 or later (empty: that of QGIS)"
        self.addAdvanced(
            QgsProcessingParameterFile("PYTHON", text, optional=True, fileFilter=ANY_FILE)
        )
        self.addOutput(QgsProcessingOutputFolder("ENVIRONMENT", "Environment"))

    def process(self, parameters, context, feedback):
        """Make the environment."""
        python = self.parameterAsString(parameters, "PYTHON", context)
        folder = environment_folder()
        folder.parent.mkdir(parents=True, exist_ok=True)
        make_environment(folder, Path(python or default_python()), feedback)
        feedback.pushInfo(f"The selfdict command is in {folder}.")
        return {"ENVIRONMENT": str(folder)}
