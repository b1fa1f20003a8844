"""Results for other software: spectra, dominant materials as a GeoTIFF, pixels as GeoJSON."""

import csv
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from os import PathLike
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import xarray as xr

from selfdict._display import class_colours, csv_cell, plain
from selfdict._validation import Array
from selfdict.scene.metadata import band_numbers, coordinates_of, crs_text, projected
from selfdict.scene.result import UnmixResult
from selfdict.scene.write import labels_of, staged
from selfdict.scene.write_formats import write_envi_library, write_raster


def write_dominant(
    result: UnmixResult, path: str | PathLike[str], *, overwrite: bool = False
) -> Path:
    """Write the dominant material of each pixel as a GeoTIFF of classes; return the path.

    The value of a pixel is the number of the endmember with the largest abundance, counted from 1,
    and 0 where there is no data or no material. The file has a colour table. The names of
    the classes are in ``path`` with the suffix ``.aux.xml``, where GDAL and QGIS look for them, and
    in the tags ``CLASS_1``, ``CLASS_2``, … of the GeoTIFF.

    Parameters
    ----------
    result : UnmixResult
        What :func:`unmix` found.
    path : str or path-like
        The file.
    overwrite : bool
        Replace existing files.

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
    path = Path(path)
    names = ["no data", *(plain(label) for label in result.labels)]
    colours = [(0, 0, 0), *class_colours(len(result.labels))]
    dtype = "uint8"
    if len(names) > 256:
        dtype = "uint16"

    def classes_of(rows: slice) -> Array:
        return dominant_materials(result.abundances.isel(y=rows).values)[None].astype(dtype)

    def describe(file: Any) -> None:
        file.write_colormap(1, {k: (*colour, 255) for k, colour in enumerate(colours)})
        file.set_band_description(1, "dominant material")
        file.update_tags(1, **{f"CLASS_{k}": name for k, name in enumerate(names)})

    class_file = path.with_name(path.name + ".aux.xml")
    profile = {"count": 1, "dtype": dtype, "nodata": 0, "photometric": "palette"}
    with staged(path, class_file, overwrite=overwrite) as temporary:
        write_raster(temporary, result.abundances, profile, classes_of, describe)
        temporary.with_name(class_file.name).write_bytes(_class_names(names))
    return path


def dominant_materials(abundances: Array) -> Array:
    """Return which abundance (r, y, x) is largest, counted from 1; 0 where there is none."""
    # Below every abundance: a pixel without data has no largest one.
    known = np.nan_to_num(abundances, nan=-1.0)
    return np.where(known.max(axis=0) > 0, known.argmax(axis=0) + 1, 0)


def _class_names(names: list[str]) -> bytes:
    """Return GDAL's file of metadata with the names of the classes."""
    root = ElementTree.Element("PAMDataset")
    band = ElementTree.SubElement(root, "PAMRasterBand", band="1")
    categories = ElementTree.SubElement(band, "CategoryNames")
    for name in names:
        ElementTree.SubElement(categories, "Category").text = name
    text: bytes = ElementTree.tostring(root, encoding="utf-8")
    return text


def write_pixels(
    result: UnmixResult, path: str | PathLike[str], *, overwrite: bool = False
) -> Path:
    """Write the pure pixels and their groups as GeoJSON, one point per pixel; return the path.

    The properties of a point are ``endmember`` (counted from 1), ``name``, ``role``, ``row`` and
    ``column``. The role is ``pure pixel``; ``group`` for the other nearly pure pixels of the
    material; or ``most of it`` for the pixel that holds most of a spectrum of a library.

    Points are longitudes and latitudes (WGS 84) of pixel centres, as GeoJSON requires.
    If the scene is not georeferenced, points have a row and a column but no geometry.

    Parameters
    ----------
    result, path, overwrite
        As in :func:`write_dominant`.

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
        features = ",\n".join(json.dumps(each, ensure_ascii=False) for each in _features(result))
        text = f'{{"type": "FeatureCollection", "features": [\n{features}\n]}}\n'
        temporary.write_text(text, encoding="utf-8")
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
                # to about 1 cm
                coordinates = np.round(position, 7).tolist()
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
    coordinates = coordinates_of(scene, pixels)
    crs = crs_text(scene)
    found = None
    if coordinates is not None and crs is not None:
        found = projected(crs, "EPSG:4326", *coordinates.T)
    if found is None:
        return np.full((len(pixels), 2), np.nan)
    return found.T


def write_spectra(
    spectra: xr.DataArray,
    path: str | PathLike[str],
    *,
    spread: xr.DataArray | None = None,
    overwrite: bool = False,
) -> Path:
    """Write spectra (endmember, band) as a table or an ENVI spectral library; return the path.

    A table has one row per band and one column per spectrum, separated by commas. A name that a
    spreadsheet would take for a formula, such as ``=1+1``, gets an apostrophe in front.

    Parameters
    ----------
    spectra : xarray.DataArray (endmember, band)
        Such as ``UnmixResult.endmembers``; a coordinate ``name (endmember)`` names the spectra.
    path : str or path-like
        The file. With the suffix ``.sli`` or ``.hdr`` it is an ENVI spectral library, with its
        header beside it.
    spread : xarray.DataArray (endmember, band), optional
        Such as ``UnmixResult.spread``; columns with ``_spread`` at the end of their names.
        :func:`read_library` leaves these columns out, and a spectral library has none.
    overwrite : bool
        Replace an existing file.

    Examples
    --------
    >>> import tempfile, xarray as xr
    >>> from selfdict.scene import write_spectra
    >>> spectra = xr.DataArray([[0.1, 0.2]], dims=("endmember", "band"))
    >>> spectra = spectra.assign_coords(wavelength=("band", [450.0, 550.0]))
    >>> print(write_spectra(spectra, tempfile.mkdtemp() + "/e.csv").read_text())
    band,wavelength_nm,endmember_1
    1,450.0,0.1
    2,550.0,0.2
    <BLANKLINE>
    """
    path = Path(path)
    spectra = spectra.transpose("endmember", "band")
    files = [path]
    is_envi = path.suffix.lower() in (".sli", ".hdr")
    if is_envi:
        files += [path.with_suffix(".sli"), path.with_suffix(".hdr")]
    with staged(*files, overwrite=overwrite) as temporary:
        if is_envi:
            write_envi_library(spectra, _column_titles(spectra), temporary)
        else:
            _write_table(spectra, spread, temporary)
    return path


def _write_table(spectra: xr.DataArray, spread: xr.DataArray | None, path: Path) -> None:
    columns: dict[str, Iterable[Any]] = {"band": band_numbers(spectra).tolist()}
    if "band_name" in spectra.coords:
        columns["band_name"] = map(csv_cell, spectra["band_name"].values)
    for key in ("wavelength", "fwhm"):
        if key in spectra.coords:
            columns[f"{key}_nm"] = spectra[key].values.tolist()
    names = _column_titles(spectra)
    columns |= dict(zip(names, spectra.values))
    if spread is not None:
        spread_names = [f"{name}_spread" for name in names]
        columns |= dict(zip(spread_names, spread.transpose("endmember", "band").values))
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(map(csv_cell, columns))
        writer.writerows(zip(*columns.values()))


def _column_titles(spectra: xr.DataArray) -> list[str]:
    """Return one title per spectrum, all different."""
    labels = labels_of(spectra, "endmember")
    if "name" not in spectra.coords:
        return [f"endmember_{label}" for label in labels]
    names = [plain(name) for name in spectra["name"].values]
    occurrences = Counter(names)
    titles = []
    for name, label in zip(names, labels):
        # Libraries hold several spectra of one name, and a table has one column per title.
        if occurrences[name] > 1:
            titles.append(f"{name} ({label})")
        else:
            titles.append(name)
    return titles
