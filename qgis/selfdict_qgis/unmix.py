"""Pure pixels, shares and the dominant material of a scene."""

import os
import shutil
import tempfile
from pathlib import Path

from qgis.core import (
    QgsProcessingContext,
    QgsProcessingException,
    QgsProcessingOutputHtml,
    QgsProcessingOutputRasterLayer,
    QgsProcessingOutputVectorLayer,
    QgsProcessingParameterFolderDestination,
    QgsProcessingParameterNumber,
)

from selfdict_qgis import layers
from selfdict_qgis.algorithm import (
    Algorithm,
    library_parameter,
    run_selfdict,
    scene_parameters,
    scene_words,
)


class Unmix(Algorithm):
    """``selfdict unmix``."""

    title = "Unmix"
    text = (
        "Finds the pure pixels of a hyperspectral raster and the share of each material in every "
        "pixel. Writes a new folder with GeoTIFFs, spectra and report.html, and adds layers: the "
        "pure pixels, the dominant material, and the shares of each material."
    )

    def initAlgorithm(self, configuration=None):
        """Declare parameters and outputs."""
        scene_parameters(self)
        self.addParameter(
            QgsProcessingParameterNumber(
                "MATERIALS",
                "Number of materials (not set: as recommended)",
                optional=True,
                minValue=1,
            )
        )
        self.addParameter(library_parameter("NAMES", optional=True))
        self.addParameter(QgsProcessingParameterFolderDestination("OUTPUT", "New folder"))
        self.addOutput(QgsProcessingOutputRasterLayer("SHARES", "Shares, a band per material"))
        self.addOutput(QgsProcessingOutputRasterLayer("DOMINANT", "Dominant material"))
        self.addOutput(QgsProcessingOutputVectorLayer("PIXELS", "Pure pixels"))
        self.addOutput(QgsProcessingOutputHtml("REPORT", "Report"))

    def process(self, parameters, context, feedback):
        """Run the command in a temporary folder, and move its finished output."""
        target = Path(self.parameterAsString(parameters, "OUTPUT", context)).absolute()
        if target.exists() and any(target.iterdir()):
            raise QgsProcessingException(f"{target} is not empty. Choose a new folder.")
        rank = "auto"
        if parameters.get("MATERIALS") is not None:
            rank = self.parameterAsInt(parameters, "MATERIALS", context)
        words = ["unmix", *scene_words(self, parameters, context), "--rank", rank]
        names = self.parameterAsString(parameters, "NAMES", context)
        if names:
            words += ["--names", Path(names).absolute()]
        # Last, so that further options cannot change it.
        words += ["--output", target.name, "--format", "geotiff", "--progress-json"]
        target.parent.mkdir(parents=True, exist_ok=True)
        # Beside the target, where it can be renamed. It goes whatever happens to the command.
        temporary = Path(tempfile.mkdtemp(prefix=".selfdict-", dir=target.parent))
        try:
            run_selfdict(words, feedback, folder=temporary, show=feedback.pushInfo)
            layers.save_styles(temporary / target.name)
            if target.exists():
                target.rmdir()
            os.rename(temporary / target.name, target)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
        self._load(target, context)
        report = target / "report.html"
        feedback.pushInfo(f"Report: {report.as_uri()}")
        return {
            "OUTPUT": str(target),
            "SHARES": str(target / "abundances.tif"),
            "DOMINANT": str(target / "dominant.tif"),
            "PIXELS": str(target / "pixels.geojson"),
            "REPORT": str(report),
        }

    def _load(self, folder, context):
        """Let the desktop show the layers."""
        if context.project() is None:
            return
        for position, (layer, name, output) in enumerate(layers.to_show(folder)):
            context.temporaryLayerStore().addMapLayer(layer)
            details = QgsProcessingContext.LayerDetails(name, context.project(), output)
            details.layerSortKey = position
            context.addLayerToLoadOnCompletion(layer.id(), details)
