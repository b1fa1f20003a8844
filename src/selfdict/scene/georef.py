"""The CRS and the affine transform of a scene's grid, stored as rioxarray stores them."""

from typing import Any

import numpy as np
import rioxarray  # noqa: F401  (registers DataArray.rio)
import xarray as xr
from affine import Affine


def georeference(scene: xr.DataArray, crs: Any, transform: Affine | None) -> xr.DataArray:
    """Return the scene with a CRS, a transform and the coordinates of its pixel centres.

    CRS and transform may be None. For a rotated transform the map coordinates vary along both axes
    of the grid, so no 1-D coordinate can hold them: ``x`` and ``y`` then count pixels.
    """
    # Changed in place below: the functions of rioxarray that return a new array copy all values,
    # also those of a mapped file.
    scene = scene.copy(deep=False)
    if transform is not None:
        columns = np.arange(scene.sizes["x"]) + 0.5
        rows = np.arange(scene.sizes["y"]) + 0.5
        if transform.b or transform.d:
            scene = scene.assign_coords(x=columns, y=rows)
        else:
            x = transform.c + transform.a * columns
            y = transform.f + transform.e * rows
            scene = scene.assign_coords(x=x, y=y)
        scene.rio.write_transform(transform, inplace=True)
    if crs is not None:
        scene.rio.write_crs(crs, inplace=True)
    return scene


def crs_of(scene: xr.DataArray) -> Any:
    """Return the ``rasterio.crs.CRS`` of the scene, or None."""
    return scene.rio.crs


def transform_of(scene: xr.DataArray) -> Affine | None:
    """Return the affine transform from (column, row) to the map, or None.

    It follows ``isel``: the stored transform is shifted and scaled to the ``x`` and ``y`` that are
    left. Without a stored transform, equally spaced ``x`` and ``y`` give it.
    """
    stored = _stored_transform(scene)
    if stored is None:
        return _grid_transform(scene, None, None)
    if stored.b or stored.d:
        # x and y count pixels of the stored grid: compose the two transforms.
        selected = _grid_transform(scene, 1.0, 1.0)
        if selected is None:
            return stored
        x0, y0 = to_map(stored, selected.c, selected.f)
        return Affine(
            stored.a * selected.a,
            stored.b * selected.e,
            x0,
            stored.d * selected.a,
            stored.e * selected.e,
            y0,
        )
    from_centres = _grid_transform(scene, stored.a, stored.e)
    # The centres are rounded: if both agree, the stored numbers are the exact ones.
    if from_centres is None or from_centres.almost_equals(stored, 1e-6 * abs(stored.a)):
        return stored
    return from_centres


def to_map(transform: Affine, column: Any, row: Any) -> tuple[Any, Any]:
    """Return the map coordinates x, y of grid positions.

    The position (0, 0) is the outer corner of the first pixel.
    """
    return (
        transform.a * column + transform.b * row + transform.c,
        transform.d * column + transform.e * row + transform.f,
    )


def _stored_transform(scene: xr.DataArray) -> Affine | None:
    if "spatial_ref" not in scene.coords or "GeoTransform" not in scene["spatial_ref"].attrs:
        return None
    text = str(scene["spatial_ref"].attrs["GeoTransform"])
    return Affine.from_gdal(*map(float, text.split()))


def _grid_transform(
    scene: xr.DataArray, single_x: float | None, single_y: float | None
) -> Affine | None:
    """Return the transform that ``x`` and ``y`` give, or None.

    ``single_x`` and ``single_y`` are the steps of an axis that has only one pixel.
    """
    grid_x = _axis(scene, "x", single_x)
    grid_y = _axis(scene, "y", single_y)
    if grid_x is None or grid_y is None:
        return None
    step_x, x0 = grid_x
    step_y, y0 = grid_y
    return Affine(step_x, 0.0, x0, 0.0, step_y, y0)


def _axis(scene: xr.DataArray, dim: str, single: float | None) -> tuple[float, float] | None:
    """Return step and first edge of equally spaced centres, or None."""
    if dim not in scene.coords:
        return None
    centres = scene[dim].values.astype(float)
    step = single
    if centres.size > 1:
        step = float(centres[-1] - centres[0]) / (centres.size - 1)
        # Coordinates in files are rounded, often to single precision: the tolerance is wide.
        if step == 0 or not np.allclose(np.diff(centres), step, rtol=1e-3, atol=0):
            return None
    if step is None:
        return None
    return step, float(centres[0]) - step / 2
