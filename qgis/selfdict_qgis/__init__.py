"""Unmix hyperspectral rasters in QGIS, with the ``selfdict`` command.

The parts: ``plugin`` (what QGIS loads), one module per algorithm (``unmix``, ``rank``,
``identify``, ``setup``) over ``algorithm``; ``environment`` (where the command is), ``command``
(running it) and ``layers`` (what its outputs look like). The last three know nothing of Processing,
and the first two of them nothing of QGIS.
"""


def classFactory(iface):
    """Return the plugin."""
    from selfdict_qgis.plugin import Plugin

    return Plugin()
