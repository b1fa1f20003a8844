"""What a reader returns: a cube in a file, and what the file says about it; names of dims."""

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from selfdict._errors import InputError

Array = NDArray[Any]
Load = Callable[[slice, slice, slice], Array]

DIMS = ("band", "y", "x")
# Dims whose coordinate holds wavelengths; ``band`` or ``channel`` may just be counted.
WAVELENGTH_DIMS = {"wavelength", "wavelengths", "wl", "lambda"}
# Names of dims in lower case that are recognised, by what they become.
_DIM_NAMES = {
    "band": {*WAVELENGTH_DIMS, "band", "bands", "spectral", "channel", "channels"},
    "y": {"y", "lat", "latitude", "row", "rows", "line", "lines", "northing", "downtrack"},
    "x": {"x", "lon", "longitude", "col", "cols", "column", "columns", "easting", "crosstrack"}
    | {"sample", "samples"},
}


@dataclass
class StoredCube:
    """A cube (band, y, x) whose values are read on use, and what is known about it.

    Attributes
    ----------
    load : callable
        ``load(bands, rows, columns)`` returns the values in three slices without steps, as an array
        (band, y, x) of ``dtype``.
    shape : tuple of int
        Bands, rows and columns.
    dtype : numpy.dtype
        Of the stored values.
    chunk : tuple of int
        Rows and columns that the file stores together.
    wavelength, fwhm : (n_bands,) ndarray or None
        In nanometres.
    good_band : (n_bands,) ndarray of bool or None
        False for bad bands.
    band_name : list of str or None
        Any text.
    nodata : float or None
        The stored value that marks missing data.
    scale_factor, add_offset : float, (n_bands,) ndarray or None
        Physical value = stored value · scale_factor + add_offset.
    crs : str or None
        The coordinate reference system as WKT.
    transform : tuple of six float or None
        From columns and rows to the map, as GDAL orders the numbers.
    name : str
        What the values are.
    held : int or None
        The size in bytes of the files, if it is not that of the one that was named.
    coords : dict of str to ndarray
        ``valid``, ``lat`` and ``lon`` (y, x); ``y`` (y,) and ``x`` (x,), the pixel centres.
    notes : list of str
        Sentences about what was assumed.

    Examples
    --------
    >>> import numpy as np
    >>> cube = StoredCube.from_array(np.arange(24).reshape(2, 3, 4))
    >>> cube.load(slice(0, 1), slice(1, 2), slice(0, 4))
    array([[[4, 5, 6, 7]]])
    """

    load: Load
    shape: tuple[int, int, int]
    dtype: np.dtype[Any]
    chunk: tuple[int, int] = (1, 1)
    wavelength: Array | None = None
    fwhm: Array | None = None
    good_band: Array | None = None
    band_name: list[str] | None = None
    nodata: float | None = None
    scale_factor: float | Array | None = None
    add_offset: float | Array | None = None
    crs: str | None = None
    transform: tuple[float, ...] | None = None
    name: str = "reflectance"
    held: int | None = None
    coords: dict[str, Array] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    @classmethod
    def from_array(cls, values: Array, **known: Any) -> "StoredCube":
        """Return a cube that is held in memory; ``known`` are further attributes."""
        return replace(cls.from_stored(values, (0, 1, 2)), **known)

    @classmethod
    def from_stored(
        cls, stored: Any, axes: tuple[int, int, int], chunks: tuple[int, ...] | None = None
    ) -> "StoredCube":
        """Return a cube of an array that is indexed on use; ``axes`` are those of band, y and x."""

        def load(bands: slice, rows: slice, columns: slice) -> Array:
            key = [slice(None)] * 3
            for axis, part in zip(axes, (bands, rows, columns)):
                key[axis] = part
            return np.asarray(stored[tuple(key)]).transpose(axes)

        shape = (stored.shape[axes[0]], stored.shape[axes[1]], stored.shape[axes[2]])
        cube = cls(load, shape, np.dtype(stored.dtype).newbyteorder("="))
        if chunks is not None:
            cube.chunk = (chunks[axes[1]], chunks[axes[2]])
        return cube

    def add_nodata(self, value: float | None) -> None:
        """Set the no-data value that a sidecar declares, unless the file declares one itself."""
        if self.nodata is None:
            self.nodata = whole_nodata(value, self.dtype)
        elif value is not None and not np.array_equal(self.nodata, value, equal_nan=True):
            self.notes.append(
                f"the image declares the no-data value {self.nodata}, its sidecar {value:g}: "
                "not used"
            )

    def leave_out(self, is_marked: Array) -> None:
        """Leave out further pixels, which a file of the product marks (y, x)."""
        if is_marked.shape != self.shape[1:]:
            raise InputError(
                f"the mask must have the shape {self.shape[1:]} of the scene, got {is_marked.shape}"
            )
        self.coords["valid"] = self.coords.get("valid", True) & ~is_marked

    def mark_bad(self, is_bad: Array, reason: str) -> None:
        """Mark further bands as bad, with a note such as "bands that hold no data …"."""
        if not is_bad.any():
            return
        good = ~is_bad
        if self.good_band is not None:
            good &= self.good_band
        self.good_band = good
        self.notes.append(
            f"bands that {reason} are marked as bad: {int(is_bad.sum())} of {is_bad.size}"
        )

    def keep_bands(self, keep: Array) -> None:
        """Leave out the bands for which ``keep`` (booleans) is False."""
        if keep.all():
            return
        index = np.flatnonzero(keep)
        load_all = self.load

        def load(bands: slice, rows: slice, columns: slice) -> Array:
            wanted = index[bands]
            first = int(wanted[0])
            part = load_all(slice(first, int(wanted[-1]) + 1), rows, columns)
            return part[wanted - first]

        self.load = load
        self.shape = (index.size, *self.shape[1:])
        for key in ("wavelength", "fwhm", "good_band", "scale_factor", "add_offset"):
            values = getattr(self, key)
            if isinstance(values, np.ndarray) and values.ndim == 1:
                setattr(self, key, values[keep])
        if self.band_name is not None:
            self.band_name = [self.band_name[k] for k in index]


def parse_floats(texts: Iterable[str]) -> Array | None:
    """Return texts as numbers, None if one of them is no number."""
    try:
        return np.array([float(text) for text in texts], dtype=np.float64)
    except ValueError:
        return None


def whole_nodata(value: float | None, dtype: np.dtype[Any]) -> float | None:
    """Return a no-data value as an integer if values are, so that comparing makes no floats."""
    if value is not None and dtype.kind in "iu" and float(value).is_integer():
        return int(value)
    return value


def standard_name(dim: Hashable) -> str | None:
    """Return which of band, y and x a dim is by its name, or None."""
    for name, known in _DIM_NAMES.items():
        if str(dim).lower() in known:
            return name
    return None
