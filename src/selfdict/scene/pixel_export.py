"""Pure pixels and their groups as GeoJSON, for geographic information systems."""

import json
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from selfdict._display import plain
from selfdict._validation import Array
from selfdict.files.errors import SceneError
from selfdict.files.grid import to_map
from selfdict.scene.metadata import crs_of, transform_of
from selfdict.scene.result import UnmixResult
from selfdict.scene.staging import staged

_DIGITS = 7  # of a degree: about 1 cm


def write_pixels(
    result: UnmixResult, path: str | PathLike[str], *, overwrite: bool = False
) -> Path:
    """Write the pure pixels and their groups as GeoJSON, one point per pixel.

    The properties of a point are ``endmember`` (counted from 1), ``name``, ``role``, ``row`` and
    ``column``. The role is ``pure pixel``; ``group`` for the other nearly pure pixels of the
    material; or ``most of it`` for the pixel that holds most of a spectrum of a library.

    Points are longitudes and latitudes (WGS 84) of the centres of pixels, as GeoJSON demands.
    Pixels of a scene whose place on Earth is not known have no geometry, but row and column.

    Parameters
    ----------
    result : UnmixResult
        What :func:`unmix` found.
    path : str or path-like
        The file.
    overwrite : bool
        Replace an existing file.

    Returns
    -------
    pathlib.Path

    Examples
    --------
    >>> import json, tempfile
    >>> from selfdict.datasets import make_scene
    >>> from selfdict.scene import unmix, write_pixels
    >>> scene = make_scene(shape=(20, 20), n_endmembers=3, random_state=0).scene
    >>> path = write_pixels(unmix(scene, 3, method="spa"), tempfile.mkdtemp() + "/pixels.geojson")
    >>> json.loads(path.read_text())["features"][0]["geometry"]["type"]
    'Point'
    """
    path = Path(path)
    with staged(path, overwrite=overwrite) as temporary:
        try:
            with temporary.open("w", encoding="utf-8") as file:
                file.write('{"type": "FeatureCollection", "features": [\n')
                for k, feature in enumerate(_features(result)):
                    # JSON has no comma after the last element.
                    if k > 0:
                        file.write(",\n")
                    json.dump(feature, file, ensure_ascii=False)
                file.write("\n]}\n")
        except OSError as error:
            raise SceneError(path, f"cannot be written: {error}") from error
    return path


def has_positions(result: UnmixResult) -> bool:
    """Whether the places of the pixels on Earth are known."""
    return bool(np.isfinite(_lon_lat(result.abundances, result.pixels)).all())


def _features(result: UnmixResult) -> Iterator[dict[str, Any]]:
    role = "pure pixel"
    if result.atoms is not None:
        role = "most of it"
    for k, name in enumerate(map(plain, result.labels)):
        own = result.pixels[k]
        pixels = own[None]
        roles = [role]
        if result.groups is not None:
            group = result.groups[k]
            others = group[(group != own).any(axis=1)]
            pixels = np.concatenate([pixels, others])
            roles += ["group"] * len(others)
        positions = _lon_lat(result.abundances, pixels)
        for pixel, position, its_role in zip(pixels.tolist(), positions, roles):
            geometry = None
            if np.isfinite(position).all():
                coordinates = np.round(position, _DIGITS).tolist()
                geometry = {"type": "Point", "coordinates": coordinates}
            properties = {
                "endmember": k + 1,
                "name": name,
                "role": its_role,
                "row": pixel[0],
                "column": pixel[1],
            }
            yield {"type": "Feature", "geometry": geometry, "properties": properties}


def _lon_lat(scene: xr.DataArray, pixels: Array) -> Array:
    """Return longitude and latitude of the centres of pixels (k, 2), NaN where they are unknown."""
    rows, columns = pixels.T
    transform = transform_of(scene)
    crs = crs_of(scene)
    if transform is not None and crs is not None:
        # Whole numbers are the corners of pixels.
        x, y = to_map(transform, columns + 0.5, rows + 0.5)
        import rasterio.warp
        from rasterio._err import CPLE_BaseError
        from rasterio.errors import RasterioError

        try:
            longitude, latitude = rasterio.warp.transform(crs, "EPSG:4326", x, y)
        except (RasterioError, CPLE_BaseError):
            # A grid that has no place on Earth, such as that of a laboratory. Errors of GDAL come
            # through as they are.
            return np.full((len(pixels), 2), np.nan)
        return np.stack([longitude, latitude], axis=1)
    if transform is None and "lat" in scene.coords and "lon" in scene.coords:
        longitude = scene["lon"].values[rows, columns]
        latitude = scene["lat"].values[rows, columns]
        return np.stack([longitude, latitude], axis=1).astype(np.float64)
    return np.full((len(pixels), 2), np.nan)
