"""What the outputs of ``unmix`` look like: the colours of the report, and names in the legend."""

from qgis.core import (
    QgsCategorizedSymbolRenderer,
    QgsColorRampShader,
    QgsFeatureRequest,
    QgsGradientColorRamp,
    QgsGradientStop,
    QgsMarkerSymbol,
    QgsPalettedRasterRenderer,
    QgsProperty,
    QgsRasterLayer,
    QgsRasterShader,
    QgsRendererCategory,
    QgsSingleBandPseudoColorRenderer,
    QgsSymbolLayer,
    QgsVectorLayer,
)
from qgis.PyQt.QtGui import QColor

# The colour map of shares in the report.
_VIRIDIS = ("#440154", "#3b528b", "#21918c", "#5ec962", "#fde725")
# Pure pixels stand out from the groups of nearly pure ones; sizes in millimetres.
_IN_GROUP = "\"role\" = 'group'"
_POINT_SIZE = f"if({_IN_GROUP}, 1, 4)"
_OUTLINE_WIDTH = f"if({_IN_GROUP}, 0.1, 0.6)"

# The layers are opened under numbers, with which their ids begin: older versions of QGIS stack the
# layers of a result in the order of their ids.


def save_styles(folder):
    """Write the styles beside the files, where QGIS finds them whenever it opens one."""
    classes = _classes(folder)
    files = {
        "abundances": _shares(folder, 1),
        "dominant": _dominant(folder, classes),
        "pixels": _pixels(folder, classes),
    }
    for name, layer in files.items():
        layer.saveNamedStyle(str(folder / f"{name}.qml"))


def to_show(folder):
    """Return the layers to show, from the lowest to the uppermost, with their names and outputs."""
    classes = _classes(folder)
    found = []
    for value, name, _ in reversed(classes):
        found.append((_shares(folder, value), f"Share of {name}", "SHARES"))
    found.append((_dominant(folder, classes), "Dominant material", "DOMINANT"))
    found.append((_pixels(folder, classes), "Pure pixels", "PIXELS"))
    return found


def _classes(folder):
    """Return number, name and colour of each material, as ``dominant.tif`` has them."""
    n_materials = QgsRasterLayer(str(folder / "abundances.tif"), "1").bandCount()
    layer = QgsRasterLayer(str(folder / "dominant.tif"), "2")
    table = layer.dataProvider().colorTable(1)
    # 0 is where there is no data
    return [(int(each.value), each.label, each.color) for each in table[1 : n_materials + 1]]


def _shares(folder, band):
    """Return the layer of one material's share, from 0 to 1."""
    layer = QgsRasterLayer(str(folder / "abundances.tif"), f"1 {10_000 - band}")
    first, *inner, last = map(QColor, _VIRIDIS)
    stops = [QgsGradientStop((k + 1) / 4, colour) for k, colour in enumerate(inner)]
    colours = QgsColorRampShader(0, 1, QgsGradientColorRamp(first, last, False, stops))
    colours.classifyColorRamp(5)
    shader = QgsRasterShader()
    shader.setRasterShaderFunction(colours)
    renderer = QgsSingleBandPseudoColorRenderer(layer.dataProvider(), band, shader)
    renderer.setClassificationMin(0)
    renderer.setClassificationMax(1)
    layer.setRenderer(renderer)
    return layer


def _dominant(folder, classes):
    """Return the layer of the dominant material, with a colour for each."""
    layer = QgsRasterLayer(str(folder / "dominant.tif"), "2")
    entries = []
    for value, name, colour in classes:
        entries.append(QgsPalettedRasterRenderer.Class(value, colour, name))
    layer.setRenderer(QgsPalettedRasterRenderer(layer.dataProvider(), 1, entries))
    return layer


def _pixels(folder, classes):
    """Return the layer of pure pixels; a table if their places are not known."""
    layer = QgsVectorLayer(str(folder / "pixels.geojson"), "3")
    if not layer.isSpatial():
        return layer
    categories = []
    for value, name, colour in classes:
        symbol = QgsMarkerSymbol.createSimple({"outline_color": "white"})
        symbol.setColor(colour)
        marker = symbol.symbolLayer(0)
        size = QgsProperty.fromExpression(_POINT_SIZE)
        marker.setDataDefinedProperty(QgsSymbolLayer.PropertySize, size)
        width = QgsProperty.fromExpression(_OUTLINE_WIDTH)
        marker.setDataDefinedProperty(QgsSymbolLayer.PropertyStrokeWidth, width)
        categories.append(QgsRendererCategory(value, symbol, name))
    renderer = QgsCategorizedSymbolRenderer("endmember", categories)
    groups_first = QgsFeatureRequest.OrderByClause(_IN_GROUP, False)
    renderer.setOrderBy(QgsFeatureRequest.OrderBy([groups_first]))
    renderer.setOrderByEnabled(True)
    layer.setRenderer(renderer)
    return layer
