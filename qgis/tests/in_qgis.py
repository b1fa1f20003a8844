"""What the tests do inside QGIS, with its Python: ``python3 in_qgis.py ACTION ARGUMENTS…``.

Each action prints one line of JSON. The desktop runs algorithms in the same way: in a thread of its
own, and then loads the layers.
"""

import json
import sys
from pathlib import Path

from qgis.core import (
    QgsApplication,
    QgsLayoutExporter,
    QgsLayoutItemLegend,
    QgsLayoutItemMap,
    QgsLayoutPoint,
    QgsLayoutSize,
    QgsPrintLayout,
    QgsProcessingAlgRunnerTask,
    QgsProcessingContext,
    QgsProcessingException,
    QgsProcessingFeedback,
    QgsProject,
    QgsRasterLayer,
    QgsVectorLayer,
)
from qgis.PyQt.QtCore import QEventLoop, QRectF

PLUGINS = "/usr/share/qgis/python/plugins"


def run(algorithm, parameters, cancel_at=None):
    """Run an algorithm as the desktop does; return its success, its results and its context."""
    context = QgsProcessingContext()
    context.setProject(QgsProject.instance())
    feedback = QgsProcessingFeedback()

    def cancel(progress):
        if cancel_at is not None and progress >= cancel_at:
            feedback.cancel()

    feedback.progressChanged.connect(cancel)
    ended = []
    loop = QEventLoop()
    task = QgsProcessingAlgRunnerTask(algorithm, parameters, context, feedback)
    task.executed.connect(lambda *outcome: (ended.extend(outcome), loop.quit()))
    QgsApplication.taskManager().addTask(task)
    loop.exec_()
    return *ended, context, feedback


def show(algorithm, scene, output, picture):
    """Unmix, load the layers, and draw them; return them from the uppermost to the lowest."""
    from processing.gui.Postprocessing import handleAlgorithmResults

    parameters = {"INPUT": scene, "MATERIALS": 5, "OUTPUT": output}
    ok, _, context, feedback = run(algorithm, parameters)
    loaded = handleAlgorithmResults(algorithm, context, feedback)
    order = QgsProject.instance().layerTreeRoot().layerOrder()
    draw(order, picture)
    layers = [[layer.name(), layer.isValid(), *legend(layer)] for layer in order]
    return {"ok": ok and loaded, "layers": layers}


def cancel(algorithm, scene, output):
    """Cancel while the pure pixels are chosen."""
    ok, results, _, _ = run(algorithm, {"INPUT": scene, "OUTPUT": output}, cancel_at=40)
    return {"ok": ok, "results": results}


def styles(algorithm, folder):
    """Open the files of a result once more."""
    folder = Path(folder)
    found = {}
    for name in ("abundances.tif", "dominant.tif"):
        layer = QgsRasterLayer(str(folder / name), name)
        found[name] = [layer.isValid(), layer.bandCount(), *legend(layer)]
    layer = QgsVectorLayer(str(folder / "pixels.geojson"), "pixels")
    found["pixels.geojson"] = [layer.isValid(), layer.featureCount(), *legend(layer)]
    return found


def file(algorithm, source):
    """Return what the command is given of a layer."""
    from selfdict_qgis.algorithm import file_of

    try:
        return file_of(QgsRasterLayer(source, "scene"))
    except QgsProcessingException as error:
        return str(error)


def legend(layer):
    """Return the kind of a layer's renderer, its band if it shows one, and its classes."""
    renderer = layer.renderer()
    kind = renderer.type()
    if kind == "paletted":
        classes = [[each.label, each.color.name()] for each in renderer.classes()]
        return kind, renderer.band(), classes
    if kind == "singlebandpseudocolor":
        return kind, renderer.band(), []
    classes = [[each.label(), each.symbol().color().name()] for each in renderer.categories()]
    return kind, None, classes


def draw(layers, path):
    """Draw the dominant material with pure pixels, the share of one material, and the legend."""
    pixels, dominant, first, *_ = layers
    layout = QgsPrintLayout(QgsProject.instance())
    layout.initializeDefaults()
    page = layout.pageCollection().page(0)
    page.setPageSize(QgsLayoutSize(262, 80))
    for left, shown in ((0, [pixels, dominant]), (82, [first])):
        view = QgsLayoutItemMap(layout)
        view.attemptSetSceneRect(QRectF(left, 0, 80, 80))
        view.setCrs(dominant.crs())
        view.setLayers(shown)
        view.zoomToExtent(dominant.extent())
        layout.addLayoutItem(view)
    entries = QgsLayoutItemLegend(layout)
    entries.setAutoUpdateModel(False)
    group = entries.model().rootGroup()
    group.clear()
    for layer in (dominant, first):
        group.addLayer(layer)
    entries.attemptMove(QgsLayoutPoint(164, 0))
    layout.addLayoutItem(entries)
    settings = QgsLayoutExporter.ImageExportSettings()
    settings.dpi = 110
    QgsLayoutExporter(layout).exportToImage(path, settings)


def main():
    """Start QGIS without windows, load the plugin, and do what was asked for."""
    application = QgsApplication([], True)
    # By these names the settings of the profile are found.
    application.setOrganizationName("QGIS")
    application.setApplicationName("QGIS3")
    application.initQgis()
    sys.path[:0] = [PLUGINS, f"{QgsApplication.qgisSettingsDirPath()}python/plugins"]
    from processing.core.Processing import Processing

    Processing.initialize()
    from selfdict_qgis.plugin import Plugin

    plugin = Plugin()
    plugin.initProcessing()
    algorithm = QgsApplication.processingRegistry().algorithmById("selfdict:unmix")
    action, *arguments = sys.argv[1:]
    actions = {"show": show, "cancel": cancel, "styles": styles, "file": file}
    answer = actions[action](algorithm, *arguments)
    print(json.dumps(answer), flush=True)
    QgsProject.instance().clear()
    plugin.unload()
    application.exitQgis()


main()
