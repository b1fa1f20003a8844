"""Where a scene lies: its CRS and the affine transform of its grid, kept as rioxarray keeps them."""

from typing import Any

import numpy as np
import rioxarray  # noqa: F401  (registers DataArray.rio)
import xarray as xr
from affine import Affine


def georeference(scene: xr.DataArray, crs: Any, transform: Affine | None) -> xr.DataArray:
    """Return the scene with CRS, transform and the coordinates of its pixel centres (either may be None).

    Where the transform is rotated no map coordinate belongs to a whole column: ``x`` and ``y`` then
    count pixels.
    """
    scene = scene.copy(deep=False)  # rioxarray would copy all values, those of a mapped file too
    if transform is not None:
        scale_x, scale_y, x0, y0 = transform.a, transform.e, transform.c, transform.f
        if transform.b or transform.d:
            scale_x, scale_y, x0, y0 = 1.0, 1.0, 0.0, 0.0
        x = x0 + scale_x * (np.arange(scene.sizes["x"]) + 0.5)
        y = y0 + scale_y * (np.arange(scene.sizes["y"]) + 0.5)
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

    It follows ``isel``: the stored transform is moved and stretched by the ``x`` and ``y`` that are
    left. Without a stored one, equally spaced ``x`` and ``y`` give it.
    """
    stored = None
    if "spatial_ref" in scene.coords and "GeoTransform" in scene["spatial_ref"].attrs:
        stored = Affine.from_gdal(
            *map(float, str(scene["spatial_ref"].attrs["GeoTransform"]).split())
        )
    rotated = stored is not None and bool(stored.b or stored.d)
    grid_x = _axis(scene, "x", 1.0 if rotated else stored.a if stored else None)
    grid_y = _axis(scene, "y", 1.0 if rotated else stored.e if stored else None)
    if grid_x is None or grid_y is None:
        return stored
    (step_x, x0), (step_y, y0) = grid_x, grid_y
    if stored is not None and rotated:
        x0, y0 = to_map(stored, x0, y0)
        return Affine(
            stored.a * step_x, stored.b * step_y, x0, stored.d * step_x, stored.e * step_y, y0
        )
    here = Affine(step_x, 0.0, x0, 0.0, step_y, y0)
    # Centres have been rounded: the stored numbers are better where both agree.
    return (
        stored if stored is not None and here.almost_equals(stored, 1e-6 * abs(stored.a)) else here
    )


def to_map(transform: Affine, column: Any, row: Any) -> tuple[Any, Any]:
    """Return the map coordinates x, y of grid positions; (0, 0) is the outer corner of the first pixel."""
    return (
        transform.a * column + transform.b * row + transform.c,
        transform.d * column + transform.e * row + transform.f,
    )


def _axis(scene: xr.DataArray, dim: str, single: float | None) -> tuple[float, float] | None:
    """Return step and first edge of equally spaced centres, or None; ``single`` is the step of a lone pixel."""
    if dim not in scene.coords:
        return None
    centres = scene[dim].values.astype(float)
    step = single
    if centres.size > 1:
        step = float(centres[-1] - centres[0]) / (centres.size - 1)
        if step == 0 or not np.allclose(np.diff(centres), step, rtol=1e-3, atol=0):
            return None
    return None if step is None else (step, float(centres[0]) - step / 2)
