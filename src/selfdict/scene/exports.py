"""Results for other software: dominant materials as a GeoTIFF, pure pixels as GeoJSON."""

import json
import warnings
import zlib
from collections.abc import Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import xarray as xr

from selfdict._colours import class_colours
from selfdict._display import plain
from selfdict._validation import Array
from selfdict.files.errors import SceneError
from selfdict.files.grid import to_map
from selfdict.scene.blocks import row_blocks
from selfdict.scene.metadata import crs_of, transform_of
from selfdict.scene.result import UnmixResult
from selfdict.scene.staging import staged

_NO_DATA = "no data"  # name of class 0
_DIGITS = 7  # of a degree: about 1 cm
# Types and usages of the columns of GDAL's attribute tables.
_INTEGER = "0"
_TEXT = "2"
_COLUMNS = (
    ("Value", _INTEGER, "5"),
    ("Name", _TEXT, "2"),
    ("Red", _INTEGER, "6"),
    ("Green", _INTEGER, "7"),
    ("Blue", _INTEGER, "8"),
)


def write_dominant(
    result: UnmixResult, path: str | PathLike[str], *, overwrite: bool = False
) -> Path:
    """Write the dominant material of each pixel as a GeoTIFF of classes.

    The value of a pixel is the number of the endmember with the largest abundance, counted from 1,
    and 0 where there is no data or no material. The file has a colour table. The names of
    the classes are in ``path`` with the suffix ``.aux.xml``, where GDAL and QGIS look for them, and
    in the tags ``CLASS_1``, ``CLASS_2``, … of the GeoTIFF.

    Parameters
    ----------
    result : UnmixResult
        What :func:`unmix` found.
    path : str or path-like
        The file, ``.tif``.
    overwrite : bool
        Replace existing files.

    Returns
    -------
    pathlib.Path

    Examples
    --------
    >>> import tempfile
    >>> from selfdict.datasets import make_scene
    >>> from selfdict.scene import read_scene, unmix, write_dominant
    >>> scene = make_scene(shape=(20, 20), n_endmembers=3, random_state=0).scene
    >>> path = write_dominant(unmix(scene, 3, method="spa"), tempfile.mkdtemp() + "/dominant.tif")
    >>> int(read_scene(path).max())
    3
    """
    from rasterio.errors import RasterioError

    path = Path(path)
    names = [_NO_DATA, *(plain(label) for label in result.labels)]
    colours = [(0, 0, 0), *class_colours(len(result.labels))]
    class_file = path.with_name(path.name + ".aux.xml")
    with staged(path, class_file, overwrite=overwrite) as temporary:
        try:
            _write_raster(result.abundances, temporary, names, colours)
            sidecar = temporary.with_name(class_file.name)
            sidecar.write_bytes(_class_table(names, colours))
        except (OSError, RasterioError) as error:
            raise SceneError(path, f"cannot be written: {error}") from error
    return path


def dominant_materials(abundances: Array) -> Array:
    """Return which abundance (r, y, x) is largest, counted from 1; 0 where there is none.

    Examples
    --------
    >>> import numpy as np
    >>> from selfdict.scene.exports import dominant_materials
    >>> dominant_materials(np.array([[[0.2, 0.0, np.nan]], [[0.7, 0.0, np.nan]]]))
    array([[2, 0, 0]])
    """
    # Below every abundance: a pixel without data has no largest one.
    known = np.nan_to_num(abundances, nan=-1.0)
    return np.where(known.max(axis=0) > 0, known.argmax(axis=0) + 1, 0)


def _write_raster(
    abundances: xr.DataArray,
    path: Path,
    names: Sequence[str],
    colours: Sequence[tuple[int, int, int]],
) -> None:
    import rasterio
    from rasterio.errors import NotGeoreferencedWarning

    n_rows = abundances.sizes["y"]
    n_columns = abundances.sizes["x"]
    dtype = "uint8"
    if len(names) > 256:
        dtype = "uint16"
    profile = {
        "driver": "GTiff",
        "count": 1,
        "height": n_rows,
        "width": n_columns,
        "dtype": dtype,
        "crs": crs_of(abundances),
        "transform": transform_of(abundances),
        "nodata": 0,
        "compress": "deflate",
        "photometric": "palette",
    }
    checksum = 0
    found = 0
    # Within an Env, GDAL does not print its errors.
    with warnings.catch_warnings(), rasterio.Env():
        warnings.simplefilter("ignore", NotGeoreferencedWarning)
        with rasterio.open(path, "w", **profile) as file:
            file.write_colormap(1, {k: (*colour, 255) for k, colour in enumerate(colours)})
            file.set_band_description(1, "dominant material")
            file.update_tags(1, **{f"CLASS_{k}": name for k, name in enumerate(names)})
            # Maps may be larger than memory.
            for rows in row_blocks(abundances):
                classes = dominant_materials(abundances.isel(y=rows).values).astype(dtype)
                checksum = zlib.crc32(classes.tobytes(), checksum)
                file.write(classes, 1, window=_window(rows, n_columns))
        # GDAL writes most of the file on closing, and does not report a failure.
        with rasterio.open(path, driver="GTiff") as file:
            for rows in row_blocks(abundances):
                written = file.read(1, window=_window(rows, n_columns))
                found = zlib.crc32(written.tobytes(), found)
    if found != checksum:
        raise OSError("not all of it could be written; the disk may be full")


def _window(rows: slice, n_columns: int) -> Any:
    from rasterio.windows import Window

    return Window(0, rows.start, n_columns, rows.stop - rows.start)


def _class_table(names: Sequence[str], colours: Sequence[tuple[int, int, int]]) -> bytes:
    """Return GDAL's file of metadata: the names of the classes, and a table with their colours."""
    root = ElementTree.Element("PAMDataset")
    band = ElementTree.SubElement(root, "PAMRasterBand", band="1")
    categories = ElementTree.SubElement(band, "CategoryNames")
    for name in names:
        ElementTree.SubElement(categories, "Category").text = name
    table = ElementTree.SubElement(band, "GDALRasterAttributeTable", tableType="thematic")
    for index, (title, kind, usage) in enumerate(_COLUMNS):
        column = ElementTree.SubElement(table, "FieldDefn", index=str(index))
        ElementTree.SubElement(column, "Name").text = title
        ElementTree.SubElement(column, "Type").text = kind
        ElementTree.SubElement(column, "Usage").text = usage
    for k, (name, colour) in enumerate(zip(names, colours)):
        row = ElementTree.SubElement(table, "Row", index=str(k))
        for cell in (k, name, *colour):
            ElementTree.SubElement(row, "F").text = str(cell)
    text: bytes = ElementTree.tostring(root, encoding="utf-8")
    return text


def write_pixels(
    result: UnmixResult, path: str | PathLike[str], *, overwrite: bool = False
) -> Path:
    """Write the pure pixels and their groups as GeoJSON, one point per pixel.

    The properties of a point are ``endmember`` (counted from 1), ``name``, ``role``, ``row`` and
    ``column``. The role is ``pure pixel``; ``group`` for the other nearly pure pixels of the
    material; or ``most of it`` for the pixel that holds most of a spectrum of a library.

    Points are longitudes and latitudes (WGS 84) of pixel centres, as GeoJSON requires.
    If the scene is not georeferenced, points have a row and a column but no geometry.

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
