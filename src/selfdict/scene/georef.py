"""The CRS and the affine transform of a scene's grid, stored as rioxarray stores them."""

from typing import Any

import numpy as np
import rioxarray  # noqa: F401  (registers DataArray.rio)
import xarray as xr
from affine import Affine

# How far two positions of a grid may be apart, in pixels, and still be the same. Coordinates in
# single precision are off by less: those of degrees at the steps of EMIT by 0.02.
GRID_TOLERANCE = 0.1


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
    left. Without a stored transform, equally spaced ``x`` and ``y`` give it; they may be a tenth of
    a pixel away from equal spacing, since files round them.
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
    if from_centres is None or _agree(scene, from_centres, stored):
        return stored
    return from_centres


def spacing_notes(scene: xr.DataArray) -> list[str]:
    """Return a note if the scene has ``x`` and ``y`` that give no transform."""
    if "x" not in scene.coords or "y" not in scene.coords or transform_of(scene) is not None:
        return []
    return [
        "x and y are not equally spaced, within a tenth of a pixel, or have one entry: there are "
        "no map coordinates"
    ]


def _agree(scene: xr.DataArray, from_centres: Affine, stored: Affine) -> bool:
    """Whether two transforms without rotation differ by rounding only."""
    if scene["x"].dtype.itemsize >= 8 and scene["y"].dtype.itemsize >= 8:
        return bool(from_centres.almost_equals(stored, 1e-6 * abs(stored.a)))
    # Single precision: the first and the last edge tell a shift and another step.
    columns = np.array([0, scene.sizes["x"]])
    rows = np.array([0, scene.sizes["y"]])
    x, y = to_map(from_centres, columns, rows)
    stored_x, stored_y = to_map(stored, columns, rows)
    x_agrees = np.abs(x - stored_x).max() <= GRID_TOLERANCE * abs(stored.a)
    y_agrees = np.abs(y - stored_y).max() <= GRID_TOLERANCE * abs(stored.e)
    return bool(x_agrees and y_agrees)


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
        # Positions, not their differences: each is rounded, often to single precision.
        equal = np.linspace(centres[0], centres[-1], centres.size)
        # The comparison is False for NaN, too.
        if step == 0 or not (np.abs(centres - equal) <= GRID_TOLERANCE * abs(step)).all():
            return None
    if step is None:
        return None
    return step, float(centres[0]) - step / 2
