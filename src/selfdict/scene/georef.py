"""The CRS and the affine transform of a scene's grid, stored as rioxarray stores them."""

from collections.abc import Hashable
from typing import Any

import numpy as np
import xarray as xr
from affine import Affine

from selfdict.files.grid import NO_GRID, place_grid
from selfdict.scene.nodata import may_hold


def georeference(scene: xr.DataArray, crs: Any, transform: Affine | None) -> xr.DataArray:
    """Return the scene with a CRS, a transform and the coordinates of its pixel centres.

    CRS (a WKT, or what rioxarray takes) and transform may be None. For a rotated transform the map
    coordinates vary along both axes of the grid, so no 1-D coordinate can hold them: ``x`` and
    ``y`` then count pixels.
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
    return _with_spatial_ref(scene, crs, transform)


def _with_spatial_ref(scene: xr.DataArray, crs: Any, transform: Affine | None) -> xr.DataArray:
    """Return the scene with the coordinate in which rioxarray keeps CRS and transform."""
    # A WKT of a reader is stored as it is, which takes neither rioxarray nor PROJ.
    attrs: dict[Hashable, Any] = {}
    if isinstance(crs, str) and "[" in crs:
        attrs |= {"crs_wkt": crs, "spatial_ref": crs}
    elif crs is not None:
        import rioxarray  # noqa: F401  (registers DataArray.rio)

        scene.rio.write_crs(crs, inplace=True)
        attrs |= scene["spatial_ref"].attrs
    if transform is not None:
        attrs["GeoTransform"] = " ".join(str(number) for number in transform.to_gdal())
    if not attrs:
        return scene
    scene = scene.assign_coords(spatial_ref=((), 0, attrs))
    scene.encoding = scene.encoding | {"grid_mapping": "spatial_ref"}
    return scene


def crs_of(scene: xr.DataArray) -> Any:
    """Return the ``rasterio.crs.CRS`` of the scene, or None."""
    if "spatial_ref" in scene.coords and "crs_wkt" in scene["spatial_ref"].attrs:
        from rasterio.crs import CRS

        return CRS.from_wkt(scene["spatial_ref"].attrs["crs_wkt"])
    if not may_hold(scene, "crs", "grid_mapping"):
        return None
    return scene.rio.crs


def transform_of(scene: xr.DataArray) -> Affine | None:
    """Return the affine transform from (column, row) to the map, or None.

    It follows ``isel``: the stored transform is shifted and scaled to the ``x`` and ``y`` that are
    left. Without a stored transform, equally spaced ``x`` and ``y`` give it; they may be a tenth of
    a pixel away from equal spacing, since files round them.
    """
    x = scene["x"].values if "x" in scene.coords else None
    y = scene["y"].values if "y" in scene.coords else None
    return place_grid(_stored_transform(scene), x, y)


def spacing_notes(scene: xr.DataArray) -> list[str]:
    """Return a note if the scene has ``x`` and ``y`` that give no transform."""
    if "x" not in scene.coords or "y" not in scene.coords or transform_of(scene) is not None:
        return []
    return [NO_GRID]


def _stored_transform(scene: xr.DataArray) -> Affine | None:
    if "spatial_ref" not in scene.coords or "GeoTransform" not in scene["spatial_ref"].attrs:
        return None
    text = str(scene["spatial_ref"].attrs["GeoTransform"])
    return Affine.from_gdal(*map(float, text.split()))
