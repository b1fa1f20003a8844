"""What the algorithms share: the command they run, and layers as files."""

import os
import re
import shlex
from pathlib import Path

from qgis.core import (
    QgsApplication,
    QgsFeature,
    QgsField,
    QgsFields,
    QgsProcessing,
    QgsProcessingAlgorithm,
    QgsProcessingException,
    QgsProcessingParameterDefinition,
    QgsProcessingParameterFeatureSink,
    QgsProcessingParameterFile,
    QgsProcessingParameterRasterLayer,
    QgsProcessingParameterString,
    QgsSettings,
)
from qgis.PyQt.QtCore import QVariant

from selfdict_qgis.command import CancelledError, CommandError, run
from selfdict_qgis.environment import find_command

COMMAND_SETTING = "SELFDICT_COMMAND"
# QGIS's own filter (*.*) refuses names without a dot.
ANY_FILE = "All files (*)"
# An array in a file of many, as GDAL names it: NETCDF:"scene.nc":reflectance
_SUBDATASET = re.compile(r'(?:NETCDF|HDF5):"?(?P<path>.+?)"?:(?://)?(?P<variable>[^:"]+)')


class Algorithm(QgsProcessingAlgorithm):
    """A step of the work; subclasses say ``title``, ``text``, parameters and ``process``."""

    title = ""
    text = ""

    def createInstance(self):
        """Return a new algorithm of this kind."""
        return type(self)()

    def name(self):
        """Return the second part of the id."""
        return type(self).__name__.lower()

    def displayName(self):
        """Return the name in the toolbox."""
        return self.title

    def shortHelpString(self):
        """Return the text beside the parameters."""
        return self.text

    def processAlgorithm(self, parameters, context, feedback):
        """Run the algorithm; errors of the command are those of the algorithm."""
        try:
            return self.process(parameters, context, feedback)
        except CancelledError:
            feedback.pushInfo("Cancelled; nothing was written.")
            return {}
        # A ValueError is that of further options with an open quotation mark.
        except (CommandError, OSError, ValueError) as error:
            raise QgsProcessingException(str(error)) from error

    def process(self, parameters, context, feedback):
        """Do the work and return the outputs."""
        raise NotImplementedError

    def addAdvanced(self, parameter):
        """Add a parameter that is folded away at first."""
        advanced = QgsProcessingParameterDefinition.FlagAdvanced
        parameter.setFlags(parameter.flags() | advanced)
        self.addParameter(parameter)


def environment_folder():
    """Return the folder of our own environment, in the user's profile."""
    return Path(QgsApplication.qgisSettingsDirPath()) / "selfdict" / "environment"


def run_selfdict(words, feedback, **options):
    """Run the ``selfdict`` command with these words, and return its standard output."""
    setting = QgsSettings().value(f"Processing/Configuration/{COMMAND_SETTING}", "")
    command = find_command(setting, environment_folder())
    return run([*command, *map(str, words)], feedback, **options)


def scene_parameters(algorithm):
    """Add the parameters of reading a scene."""
    algorithm.addParameter(QgsProcessingParameterRasterLayer("INPUT", "Hyperspectral raster"))
    algorithm.addParameter(
        QgsProcessingParameterRasterLayer(
            "MASK", "Mask (pixels that are not 0 are left out)", optional=True
        )
    )
    algorithm.addAdvanced(
        QgsProcessingParameterString("EXTRA", "Further options of the command", optional=True)
    )


def scene_words(algorithm, parameters, context):
    """Return the words that say which scene is read."""
    scene, variable = file_of(algorithm.parameterAsRasterLayer(parameters, "INPUT", context))
    words = [scene]
    if variable is not None:
        words += ["--variable", variable]
    layer = algorithm.parameterAsRasterLayer(parameters, "MASK", context)
    if layer is not None:
        mask, variable = file_of(layer)
        if variable is not None:
            raise QgsProcessingException("Save the mask as a GeoTIFF first.")
        words += ["--mask", mask]
    return words + shlex.split(algorithm.parameterAsString(parameters, "EXTRA", context))


def library_parameter(name, optional):
    """Return the parameter of a spectral library."""
    text = "Spectral library (.csv, .sli, .npz, .txt, or the path of a folder)"
    return QgsProcessingParameterFile(name, text, optional=optional, fileFilter=ANY_FILE)


def file_of(layer):
    """Return the file of a raster layer, and which array of the file it is, if there are many."""
    if layer is None:
        raise QgsProcessingException("The raster cannot be opened.")
    path = layer.source()
    variable = None
    subdataset = _SUBDATASET.fullmatch(path)
    if subdataset is not None:
        path = subdataset["path"]
        variable = subdataset["variable"]
    if layer.providerType() != "gdal" or not Path(path).exists():
        raise QgsProcessingException(
            f"The layer “{layer.name()}” is not a file on this computer ({layer.source()}). Save "
            "it first: Export > Save As…, as a GeoTIFF with all bands."
        )
    # The command runs in a folder of its own.
    return os.path.abspath(path), variable


def table_parameter(description):
    """Return the parameter of a table to write."""
    kind = QgsProcessing.TypeVector
    return QgsProcessingParameterFeatureSink("OUTPUT", description, kind, optional=True)


def write_table(algorithm, parameters, context, columns, rows):
    """Write a table without geometry; ``columns`` maps names to Python's types of values."""
    kinds = {int: QVariant.Int, float: QVariant.Double, str: QVariant.String}
    fields = QgsFields()
    for name, kind in columns.items():
        fields.append(QgsField(name, kinds[kind]))
    sink, identifier = algorithm.parameterAsSink(parameters, "OUTPUT", context, fields)
    if sink is None:
        return {}
    for row in rows:
        feature = QgsFeature(fields)
        feature.setAttributes(list(row))
        sink.addFeature(feature)
    return {"OUTPUT": identifier}


def ignore(line):
    """Show nothing of the output."""
