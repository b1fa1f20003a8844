"""What QGIS loads: the plugin, and its provider of algorithms."""

from pathlib import Path

from processing.core.ProcessingConfig import ProcessingConfig, Setting
from qgis.core import QgsApplication, QgsProcessingProvider
from qgis.PyQt.QtGui import QIcon

from selfdict_qgis.algorithm import COMMAND_SETTING
from selfdict_qgis.identify import Identify
from selfdict_qgis.rank import Rank
from selfdict_qgis.setup import Setup
from selfdict_qgis.unmix import Unmix


class Plugin:
    """Adds the provider to Processing, and removes it again."""

    def initProcessing(self):
        """Add the provider; ``qgis_process`` calls this alone."""
        self.provider = Provider()
        QgsApplication.processingRegistry().addProvider(self.provider)

    def initGui(self):
        """Add what the desktop shows: the same."""
        self.initProcessing()

    def unload(self):
        """Remove the provider."""
        QgsApplication.processingRegistry().removeProvider(self.provider)


class Provider(QgsProcessingProvider):
    """The algorithms, and the setting that names a command."""

    def id(self):
        """Return the first part of the algorithms' names."""
        return "selfdict"

    def name(self):
        """Return the name in the toolbox."""
        return "selfdict"

    def icon(self):
        """Return our icon."""
        return QIcon(str(Path(__file__).with_name("icon.svg")))

    def load(self):
        """Add the setting (Settings, Options, Processing, Providers) and the algorithms."""
        ProcessingConfig.settingIcons[self.name()] = self.icon()
        description = "The selfdict command (empty: of the environment made by Set up)"
        ProcessingConfig.addSetting(
            Setting(self.name(), COMMAND_SETTING, description, "", valuetype=Setting.FILE)
        )
        ProcessingConfig.readSettings()
        self.refreshAlgorithms()
        return True

    def unload(self):
        """Remove the setting."""
        ProcessingConfig.removeSetting(COMMAND_SETTING)

    def loadAlgorithms(self):
        """Add the algorithms."""
        for algorithm in (Unmix, Rank, Identify, Setup):
            self.addAlgorithm(algorithm())
