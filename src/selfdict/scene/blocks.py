"""A scene read block by block: as matrices with pixels as columns, and which pixels are valid."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from selfdict._errors import InputError
from selfdict._validation import Array, largest_size
from selfdict.compute.threads import n_threads
from selfdict.files.cube import standard_name
from selfdict.files.lazy import BLOCK_BYTES
from selfdict.scene.metadata import declared_nodata, scaling_of
from selfdict.scene.model import as_scene

# From this number of bands on, the same value in all of them is no coincidence.
FEWEST_BANDS = 4


def blocks(scene: xr.DataArray) -> list[tuple[slice, slice]]:
    """Return rows and columns of the blocks of a scene: whole chunks, about ``BLOCK_BYTES``."""
    n_bands, n_rows, n_columns = scene.shape
    # An array in memory can be cut between any two rows.
    chunk_rows = 1
    chunk_columns = n_columns
    if scene.chunks is not None:
        chunk_rows = max(scene.chunks[1])
        chunk_columns = max(scene.chunks[2])
    elif "preferred_chunks" in scene.encoding:
        # It was loaded from a file in such chunks.
        chunk_rows = scene.encoding["preferred_chunks"].get("y", 1)
        chunk_columns = scene.encoding["preferred_chunks"].get("x", n_columns)
    pixels = BLOCK_BYTES // (n_bands * scene.dtype.itemsize)
    columns = n_columns
    if chunk_rows * n_columns > pixels:
        # One row of chunks is too much: take some chunks side by side.
        columns = max(1, pixels // chunk_rows // chunk_columns) * chunk_columns
    rows = max(1, pixels // columns // chunk_rows) * chunk_rows
    parts = []
    for top in range(0, n_rows, rows):
        for left in range(0, n_columns, columns):
            bottom = min(top + rows, n_rows)
            right = min(left + columns, n_columns)
            parts.append((slice(top, bottom), slice(left, right)))
    return parts


def row_blocks(scene: xr.DataArray) -> list[slice]:
    """Return the rows of the blocks, for writers, which need whole rows whatever their size."""
    return [slice(rows.start, rows.stop) for rows, columns in blocks(scene) if columns.start == 0]


def in_row_chunks(scene: xr.DataArray) -> xr.DataArray:
    """Return the scene as a dask array, so that later steps work on a few rows at a time."""
    if scene.chunks is not None:
        return scene
    n_rows = row_blocks(scene)[0].stop
    # A random name: dask would otherwise hash all values to make one.
    return scene.chunk({"y": n_rows}, token=uuid4().hex)


def float_dtype(stored: np.dtype[Any]) -> np.dtype[np.floating]:
    """Return the dtype of the matrix of stored values: float64 for float64, else float32."""
    # Stored integers have 16 bits as a rule, and float32 holds 24.
    if stored.kind == "f" and stored.itemsize > 4:
        return np.dtype(np.float64)
    return np.dtype(np.float32)


def stored_matrix(part: xr.DataArray) -> Array:
    """Read a part of a scene as a matrix of stored values (bands, pixels)."""
    scheduler = None
    if n_threads() == 1:
        # This may be a task of a dask cluster, where the default scheduler is the cluster itself:
        # the task would occupy the only thread of the worker while it waits to be read for.
        scheduler = "synchronous"
    if part.chunks is not None:
        part = part.compute(scheduler=scheduler)
    return np.asarray(part.data).reshape(part.sizes["band"], -1)


def block_matrix(part: xr.DataArray, bands: Array) -> tuple[Array, Array]:
    """Read the used bands of a part as physical values (bands, pixels), and which hold data."""
    raw = stored_matrix(part)
    # Indexing by booleans copies, which is not needed if all bands are used.
    if not bands.all():
        raw = raw[bands]
    gains, offsets = scaling_of(part)
    gain = gains[bands]
    offset = offsets[bands]
    is_scaled = bool((gain != 1).any() or (offset != 0).any())
    # Damaged values may overflow or be signalling NaNs.
    with np.errstate(all="ignore"):
        # A copy only for what is written below: the stored values may be those of the user.
        M = raw.astype(float_dtype(raw.dtype), copy=is_scaled)
        # The no-data value is one of the stored values: compare before these are scaled.
        valid = _holds_data(raw, M, declared_nodata(part))
        valid &= ~is_impossible(raw, gain, offset)
        if "valid" in part.coords:
            valid &= part["valid"].values.ravel().astype(bool)
        # In the dtype of the matrix: a float64 factor must not turn float32 values into float64.
        if (gain != 1).any():
            M *= gain.astype(M.dtype)[:, None]
        if (offset != 0).any():
            M += offset.astype(M.dtype)[:, None]
            valid &= M.any(axis=0)  # an offset may turn a pixel into zeros
        if is_scaled:
            # The product of a large value and a large gain may leave the range of the dtype.
            valid &= (np.abs(M) <= largest_size(M.dtype)).all(axis=0)
    return M, valid


@dataclass(frozen=True)
class Block:
    """Some rows and columns of a scene, whose values are read on use."""

    number: int  # counted from 0 over the scene
    rows: slice  # where the block lies in the scene
    columns: slice
    width: int  # number of columns of the whole scene
    scene: xr.DataArray  # the block as a scene of its own

    @property
    def pixels(self) -> Array:
        """The positions of its pixels in the scene, counted row by row, (n,)."""
        row_starts = np.arange(self.rows.start, self.rows.stop) * self.width
        return (row_starts[:, None] + np.arange(self.columns.start, self.columns.stop)).ravel()

    def valid_pixels(self, bands: Array) -> tuple[Array, Array]:
        """Read the used bands of the pixels with data, (m, k), and their positions, (k,)."""
        M, valid = block_matrix(self.scene, bands)
        # Indexing by booleans copies, which is not needed if all pixels hold data.
        if valid.all():
            return M, self.pixels
        return M[:, valid], self.pixels[valid]


def cut(scene: xr.DataArray, parts: list[tuple[slice, slice]] | None = None) -> Iterator[Block]:
    """Yield the parts of a scene, by default its blocks."""
    for number, (rows, columns) in enumerate(parts or blocks(scene)):
        yield Block(number, rows, columns, scene.sizes["x"], scene.isel(y=rows, x=columns))


def _holds_data(raw: Array, M: Array, nodata: float | None) -> Array:
    """Return which columns of stored values are pixels with data; M are the same as floats."""
    # All zeros is what sensors and mosaics write outside the image, declared or not.
    if raw.dtype.kind == "f":
        most = largest_size(M.dtype)
        # Norms, in one pass, tell of most pixels that no value is NaN or too large to compute with,
        # and that the largest is not too small. The extremes tell of the others. (The kernel of the
        # solvers would load Numba, which takes longer than the rest of ``selfdict info``.)
        with np.errstate(over="ignore", invalid="ignore"):
            squares: Array = np.einsum("ij,ij->j", M, M)
        valid = (squares <= most**2) & (squares * most**2 >= len(M))
        others = np.flatnonzero(~valid)
        if others.size:
            lowest = M[:, others].min(axis=0)
            highest = M[:, others].max(axis=0)
            valid[others] = (lowest >= -most) & (highest <= most)
            valid[others] &= ~is_all_zero(lowest, highest, M.dtype)
    else:
        valid = np.asarray(raw.any(axis=0))
    # A single zero is a measurement (a dark pixel in an absorption band): declared as no-data, zero
    # must fill the pixel, which is tested above.
    if nodata is not None and nodata != 0:
        # A Python number is compared in the dtype of the array, and may lie outside its range.
        valid &= (raw != nodata).all(axis=0)
    return valid


def is_all_zero(lowest: Array, highest: Array, stored: np.dtype[Any]) -> Array:
    """Return which pixels are all zeros, by the lowest and the highest of their stored values."""
    if stored.kind != "f":
        return np.asarray((lowest == 0) & (highest == 0))
    # Numbers that are too small to compute with count as zeros.
    least = 1 / largest_size(float_dtype(stored))
    return np.asarray((lowest > -least) & (highest < least))


def is_impossible(raw: Array, gain: Array, offset: Array) -> Array:
    """Return which columns hold one value in all bands that is no measurement."""
    # It is negative as a physical value, such as −9999, or as large as fill values are: 65535 in 16
    # bits without a sign. Software writes such pixels without declaring a no-data value.
    found = np.zeros(raw.shape[1], dtype=bool)
    if len(raw) < FEWEST_BANDS:
        return found
    # Few pixels agree in three bands: only these are examined in all of them.
    agree = (raw[0] == raw[1]) & (raw[0] == raw[-1]) & (raw[0] != 0)
    candidates = np.flatnonzero(agree)
    values = raw[:, candidates]
    candidates = candidates[(values == values[:1]).all(axis=0)]
    value = raw[0, candidates].astype(np.float64)
    is_negative = np.ones(value.shape, dtype=bool)
    for band_gain, band_offset in zip(gain, offset):
        is_negative &= value * band_gain + band_offset < 0
    # The fill values of NetCDF, of MODIS and of many others are larger than any measurement.
    least = 1e20
    if raw.dtype in (np.uint16, np.uint32):
        least = np.iinfo(raw.dtype).max
    found[candidates] = is_negative | (np.abs(value) >= least)
    return found


def good_bands(scene: xr.DataArray) -> Array:
    """Return which bands are not marked as bad, as booleans."""
    if "good_band" in scene.coords:
        return np.asarray(scene["good_band"].values.astype(bool))
    return np.ones(scene.sizes["band"], dtype=bool)


def used_bands(scene: xr.DataArray, drop_bad_bands: bool) -> Array:
    """Return which bands are used, as booleans."""
    good = good_bands(scene)
    if not drop_bad_bands:
        return np.ones_like(good)
    if not good.any():
        raise InputError(
            "all bands are marked as bad; pass drop_bad_bands=False to use them all the same"
        )
    return good


def with_mask(scene: xr.DataArray, mask: ArrayLike | None) -> xr.DataArray:
    """Return the scene with a mask (True for pixels to leave out) in its ``valid`` coordinate."""
    if mask is None:
        return scene
    excluded = _in_order_of_dims(mask)
    if excluded.dtype.kind not in "biu" or excluded.shape != scene.shape[1:]:
        raise InputError(
            f"mask must be booleans of shape {scene.shape[1:]}, True where a pixel is left out, "
            f"got {excluded.dtype} of shape {excluded.shape}"
        )
    valid = ~excluded.astype(bool)
    if "valid" in scene.coords:
        valid &= scene["valid"].values.astype(bool)
    return scene.assign_coords(valid=(("y", "x"), valid))


def _in_order_of_dims(mask: ArrayLike) -> Array:
    """Return the values of a mask as (y, x); dims whose names are not known are in this order."""
    if isinstance(mask, xr.DataArray):
        dims = {standard_name(dim): dim for dim in mask.dims}
        if mask.ndim == len(dims) == 2 and dims.keys() == {"y", "x"}:
            return mask.transpose(dims["y"], dims["x"]).values
    return np.asarray(mask)


def valid_mask(
    scene: xr.DataArray, mask: ArrayLike | None = None, *, drop_bad_bands: bool = False
) -> xr.DataArray:
    """Return which pixels can be used, reading the scene block by block.

    A pixel is left out if a used band is NaN, infinite or beyond ±10¹² (±10³⁰ in float64), if a
    used band holds the no-data value (``_FillValue``; a no-data value of 0 counts only if every
    band is 0), if all its bands are zero or below 10⁻¹² (10⁻³⁰ in float64), if it holds one value
    in four or more bands that is negative or above 10²⁰, if the ``valid`` coordinate of the scene
    is False, or if ``mask`` is True.

    Parameters
    ----------
    scene : xarray.DataArray (band, y, x)
        Dims are recognised as in :func:`as_scene`.
    mask : (n_rows, n_columns) array-like of bool, optional
        True for pixels to leave out.
    drop_bad_bands : bool
        Examine only the bands marked as good.

    Returns
    -------
    xarray.DataArray of bool, (y, x)

    Examples
    --------
    >>> import numpy as np
    >>> from selfdict.scene import build_scene, valid_mask
    >>> values = np.ones((2, 1, 4))
    >>> values[:, 0, 0] = 0
    >>> values[1, 0, 1] = np.nan
    >>> values[0, 0, 2] = -9
    >>> valid_mask(build_scene(values, nodata=-9)).values
    array([[False, False, False,  True]])
    """
    scene = with_mask(as_scene(scene), mask)
    bands = used_bands(scene, drop_bad_bands)
    valid = np.empty(scene.shape[1:], dtype=bool)
    for block in cut(scene):
        _, has_data = block_matrix(block.scene, bands)
        valid[block.rows, block.columns] = has_data.reshape(block.scene.shape[1:])
    return map_of(scene, valid, "valid")


def matrix(
    scene: xr.DataArray, mask: ArrayLike | None = None, *, drop_bad_bands: bool = False
) -> Array:
    """Return the valid pixels of a scene as the columns of a matrix, in row-major order.

    Parameters
    ----------
    scene, mask
        As in :func:`valid_mask`.
    drop_bad_bands : bool
        Leave out the bands marked as bad.

    Returns
    -------
    M : (n_bands, n_valid) ndarray
        Physical values (scales and offsets applied), float64 if the scene is, else float32.

    Examples
    --------
    >>> import numpy as np
    >>> from selfdict.scene import build_scene, matrix
    >>> matrix(build_scene(np.arange(8).reshape(2, 2, 2), scale_factor=0.5))
    array([[0. , 0.5, 1. , 1.5],
           [2. , 2.5, 3. , 3.5]], dtype=float32)
    """
    scene = with_mask(as_scene(scene), mask)
    bands = used_bands(scene, drop_bad_bands)
    matrices, positions = zip(*(block.valid_pixels(bands) for block in cut(scene)))
    # Blocks may lie side by side: bring their pixels into the order of the scene.
    order = np.argsort(np.concatenate(positions))
    return np.asarray(np.concatenate(matrices, axis=1)[:, order])


def map_of(scene: xr.DataArray, values: Array, name: str, **leading: ArrayLike) -> xr.DataArray:
    """Return values on the grid of a scene; ``leading`` is a dim before y and x with labels."""
    coords: dict[str, Any] = dict(leading)
    for key in ("y", "x", "spatial_ref", "lat", "lon"):
        if key in scene.coords:
            coords[key] = scene.coords[key]
    attrs = {}
    # Maps of numbers are NaN for pixels without data, which other software must be told.
    if values.dtype.kind == "f":
        attrs["_FillValue"] = np.nan
    return xr.DataArray(values, dims=(*leading, "y", "x"), coords=coords, name=name, attrs=attrs)
