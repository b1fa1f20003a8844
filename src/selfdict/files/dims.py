"""The dims of a scene, and the names by which they are recognised."""

from collections.abc import Hashable

DIMS = ("band", "y", "x")
# Names of dims in lower case that are recognised, by what they become.
_DIM_NAMES = {
    "band": {
        "band",
        "bands",
        "wavelength",
        "wavelengths",
        "wl",
        "lambda",
        "spectral",
        "channel",
        "channels",
    },
    "y": {"y", "lat", "latitude", "row", "rows", "line", "lines", "northing", "downtrack"},
    "x": {
        "x",
        "lon",
        "longitude",
        "col",
        "cols",
        "column",
        "columns",
        "sample",
        "samples",
        "easting",
        "crosstrack",
    },
}
# Those of them whose coordinate holds wavelengths; ``band`` or ``channel`` may just be counted.
WAVELENGTH_DIMS = {"wavelength", "wavelengths", "wl", "lambda"}


def standard_name(dim: Hashable) -> str | None:
    """Return which of band, y and x a dim is by its name, or None.

    Examples
    --------
    >>> standard_name("Latitude")
    'y'
    """
    for name, known in _DIM_NAMES.items():
        if str(dim).lower() in known:
            return name
    return None
