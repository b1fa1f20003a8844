"""A scene read a part at a time: as matrices with pixels as columns, and which pixels are valid."""

from uuid import uuid4

import dask.array
import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from selfdict._errors import InputError
from selfdict._validation import Array
from selfdict.compute.threads import n_threads
from selfdict.scene.mapped import MappedArray, mapped_file
from selfdict.scene.model import as_scene

BLOCK_BYTES = 32 * 2**20  # of stored values read at a time


def blocks(scene: xr.DataArray) -> list[tuple[slice, slice]]:
    """Return the rows and columns of the parts a scene is read in.

    A part holds at most ``BLOCK_BYTES``, or one chunk where that is more: whole rows if the chunks
    allow it, whole chunks always, so that none is read twice.
    """
    n_bands, n_rows, n_columns = scene.shape
    chunk_rows, chunk_columns = (
        (1, n_columns) if scene.chunks is None else map(max, scene.chunks[1:])
    )
    pixels = BLOCK_BYTES // (n_bands * scene.dtype.itemsize)
    columns = n_columns
    if chunk_rows * n_columns > pixels:
        columns = max(1, pixels // chunk_rows // chunk_columns) * chunk_columns
    rows = max(1, pixels // columns // chunk_rows) * chunk_rows
    return [
        (slice(top, min(top + rows, n_rows)), slice(left, min(left + columns, n_columns)))
        for top in range(0, n_rows, rows)
        for left in range(0, n_columns, columns)
    ]


def row_blocks(scene: xr.DataArray) -> list[slice]:
    """Return the parts as whole rows, for writers, whatever their size."""
    return [slice(rows.start, rows.stop) for rows, columns in blocks(scene) if columns.start == 0]


def in_row_chunks(scene: xr.DataArray) -> xr.DataArray:
    """Return the scene as a dask array, so that what follows works on a few rows at a time."""
    if scene.chunks is not None:
        return scene
    rows = row_blocks(scene)[0]
    if (whole := mapped_file(scene.data)) is not None:
        view, chunks = MappedArray(scene.data, whole), (scene.shape[0], rows.stop, scene.shape[2])
        # name=False: a name from the data itself would read all of it
        return scene.copy(data=dask.array.from_array(view, chunks=chunks, name=False))
    # a token of our own, for the same reason
    return scene.chunk({"y": rows.stop}, token=uuid4().hex)


def flat_indices(n_columns: int, rows: slice, columns: slice) -> Array:
    """Return the positions of the pixels of a part in a scene of that many columns, counted row by row."""
    return (
        np.arange(rows.start, rows.stop)[:, None] * n_columns
        + np.arange(columns.start, columns.stop)
    ).ravel()


def float_dtype(scene: xr.DataArray) -> np.dtype[np.floating]:
    """Return the dtype of the matrices: float64 stays, all else is float32."""
    return np.dtype(
        np.float64 if scene.dtype.kind == "f" and scene.dtype.itemsize > 4 else np.float32
    )


def block_matrix(
    scene: xr.DataArray, rows: slice, columns: slice, bands: Array
) -> tuple[Array, Array]:
    """Return a part as a matrix of physical values (bands, pixels), and which pixels hold data."""
    # a task of a cluster has one thread, and must not ask the cluster to read for it
    scheduler = "synchronous" if n_threads() == 1 else None
    raw = (
        scene.isel(y=rows, x=columns)
        .compute(scheduler=scheduler)
        .values.reshape(scene.sizes["band"], -1)
    )
    if not bands.all():
        raw = raw[bands]
    valid = _holds_data(raw, scene.attrs.get("_FillValue"))
    if "valid" in scene.coords:
        valid &= scene["valid"].values[rows, columns].ravel().astype(bool)
    M = raw.astype(float_dtype(scene))
    if (scale := scene.attrs.get("scale_factor", 1)) != 1:
        M *= M.dtype.type(scale)
    if (offset := scene.attrs.get("add_offset", 0)) != 0:
        M += M.dtype.type(offset)
    return M, valid


def _holds_data(raw: Array, nodata: float | None) -> Array:
    valid = np.asarray(raw.any(axis=0))
    if raw.dtype.kind == "f":
        valid &= np.isfinite(raw).all(axis=0)
    # Zero is also a measurement (a dark pixel in an absorption band): as no-data it must fill the
    # pixel.
    if nodata is not None and nodata != 0:
        # A Python number is compared in the dtype of the array and may lie outside its range.
        valid &= (raw != np.asarray(nodata).item()).all(axis=0)
    return valid


def used_bands(scene: xr.DataArray, drop_bad_bands: bool) -> Array:
    """Return which bands take part, as booleans."""
    if drop_bad_bands and "good_band" in scene.coords:
        good = scene["good_band"].values.astype(bool)
        if not good.any():
            raise InputError(
                "all bands are marked as bad; pass drop_bad_bands=False to use them all the same"
            )
        return good
    return np.ones(scene.sizes["band"], dtype=bool)


def with_mask(scene: xr.DataArray, mask: ArrayLike | None) -> xr.DataArray:
    """Return the scene with a mask (True = leave this pixel out) folded into its ``valid`` coordinate."""
    if mask is None:
        return scene
    excluded = np.asarray(mask)
    if excluded.dtype.kind not in "biu" or excluded.shape != scene.shape[1:]:
        raise InputError(
            f"mask must be booleans of shape {scene.shape[1:]}, True where a pixel is left out, "
            f"got {excluded.dtype} of shape {excluded.shape}"
        )
    valid = ~excluded.astype(bool)
    if "valid" in scene.coords:
        valid &= scene["valid"].values.astype(bool)
    return scene.assign_coords(valid=(("y", "x"), valid))


def valid_mask(
    scene: xr.DataArray, mask: ArrayLike | None = None, *, drop_bad_bands: bool = False
) -> xr.DataArray:
    """Return which pixels can be used, reading the scene a block at a time.

    A pixel is left out when a used band is NaN or infinite, when a used band holds the no-data
    value (``_FillValue``; a no-data value of 0 counts only if every band is 0), when all its bands
    are zero, when the ``valid`` coordinate of the scene says so, or when ``mask`` does.

    Parameters
    ----------
    scene : xarray.DataArray (band, y, x)
        Dims are recognised as in :func:`as_scene`.
    mask : (n_rows, n_columns) array-like of bool, optional
        True where a pixel is to be left out.
    drop_bad_bands : bool
        Look at the bands marked as good only.

    Returns
    -------
    xarray.DataArray of bool, (y, x)

    Examples
    --------
    >>> import numpy as np
    >>> from selfdict.scene import build_scene, valid_mask
    >>> values = np.ones((2, 1, 4)); values[:, 0, 0] = 0; values[1, 0, 1] = np.nan; values[0, 0, 2] = -9
    >>> valid_mask(build_scene(values, nodata=-9)).values
    array([[False, False, False,  True]])
    """
    scene = with_mask(as_scene(scene), mask)
    bands = used_bands(scene, drop_bad_bands)
    valid = np.empty(scene.shape[1:], dtype=bool)
    for part in blocks(scene):
        valid[part] = block_matrix(scene, *part, bands)[1].reshape(valid[part].shape)
    return map_of(scene, valid, "valid")


def matrix(
    scene: xr.DataArray,
    mask: ArrayLike | None = None,
    *,
    drop_bad_bands: bool = False,
    clip: bool = False,
) -> Array:
    """Return the valid pixels of a scene as the columns of a matrix, in row-major order.

    Parameters
    ----------
    scene : xarray.DataArray (band, y, x)
        Dims are recognised as in :func:`as_scene`.
    mask : (n_rows, n_columns) array-like of bool, optional
        True where a pixel is to be left out.
    drop_bad_bands : bool
        Leave out the bands marked as bad.
    clip : bool
        Raise negative values (noise in dark bands) to zero.

    Returns
    -------
    M : (n_bands, n_valid) ndarray
        Physical values (``scale_factor`` and ``add_offset`` applied), float64 if the scene is, else
        float32.

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
    parts, indices = [], []
    for part in blocks(scene):
        M, valid = block_matrix(scene, *part, bands)
        parts.append(M[:, valid])
        indices.append(flat_indices(scene.sizes["x"], *part)[valid])
    M = np.concatenate(parts, axis=1)[:, np.argsort(np.concatenate(indices))]
    return np.maximum(M, 0, out=M) if clip else M


def map_of(scene: xr.DataArray, values: Array, name: str, **leading: ArrayLike) -> xr.DataArray:
    """Return an array on the scene's grid with its map coordinates and CRS; ``leading``: a first dim."""
    coords = {
        key: scene.coords[key]
        for key in ("y", "x", "spatial_ref", "lat", "lon")
        if key in scene.coords
    }
    attrs = {"_FillValue": np.nan} if values.dtype.kind == "f" else {}
    return xr.DataArray(
        values, dims=(*leading, "y", "x"), coords={**leading, **coords}, name=name, attrs=attrs
    )
