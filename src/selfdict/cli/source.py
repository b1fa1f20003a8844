"""A scene as it is given on the command line, the files it consists of, and what ``info`` says."""

import hashlib
import re
import sys
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import click

from selfdict._errors import InputError
from selfdict._imports import optional
from selfdict.cli.console import in_command_words, in_words, print_line, print_table

if TYPE_CHECKING:
    import xarray as xr

# Imports of other packages are inside functions: the help needs no NumPy.


class Source:
    """A file, its name in records if that is not its path, and the options of reading it."""

    def __init__(self, file: Path, *, name: str | None = None, **options: Any) -> None:
        self.file = file
        self.name = name
        self.options = options

    def prepare(self) -> None:
        """Start the process that reads the file: it loads while this one imports its modules."""
        from selfdict.files.reader import start_early

        start_early(self.file)
        _let_xarray_import_on_use()

    def read(self, *, at_once: bool = True) -> "xr.DataArray":
        """Return the scene; with ``at_once`` the values of a small file are loaded."""
        self.prepare()
        from selfdict.scene.read import read_scene

        # Only those that are given: not every format has all of them.
        given = {name: value for name, value in self.options.items() if value is not None}
        for name, parse in (("bands", parse_bands), ("roi", parse_roi), ("shape", parse_shape)):
            if name in given:
                given[name] = parse(given[name])
        if "no_data" in given:
            given["nodata"] = given.pop("no_data")
        scene = read_scene(self.file, at_once=at_once, **given)
        # Every command looks at all values.
        if self.address is not None and scene.chunks is not None:
            size = scene.nbytes / 1e6
            note = f"all {size:,.0f} MB of values are read from the server, less if compressed"
            click.echo(f"note: {note}", err=True)
        return scene

    @property
    def address(self) -> str | None:
        """The address, if the file is elsewhere."""
        from selfdict.files.remote import address_of

        return address_of(self.file)

    @property
    def format(self) -> str:
        """The name of the format of the file."""
        from selfdict.files.formats import format_of

        if self.address is not None:
            return "remote"
        return format_of(self.file)

    @property
    def label(self) -> str:
        """The name of the file in records and messages."""
        return self.name or self.address or str(self.file)

    def fingerprints(self, *, hashed: bool) -> dict[str, dict[str, Any]]:
        """Return size, time of change and SHA-256 (which reads all of it) of each file, by name."""
        found = {}
        is_store = self.format == "zarr"
        for path in input_files(self.file):
            status = path.stat()
            changed = datetime.fromtimestamp(status.st_mtime, UTC)
            digest = None
            if hashed:
                digest = fingerprint(path)
            name = path.name
            # Files of a zarr store have the same names in every subfolder.
            if is_store:
                name = path.relative_to(self.file.parent).as_posix()
            found[name] = {
                "bytes": status.st_size,
                "modified": changed.isoformat(timespec="seconds"),
                "sha256": digest,
            }
        return found

    def files(self) -> list[Path]:
        """Return the files that are read, those of the mask as well."""
        return [*input_files(self.file), *input_files(self.options.get("mask"))]


def input_files(path: Path | None) -> list[Path]:
    """Return all files of a scene or a library that is given by a file or a folder of it."""
    from selfdict.files import envi
    from selfdict.files.formats import FORMATS, format_of
    from selfdict.files.remote import address_of

    # Of a file elsewhere nothing is known but its address.
    if path is None or address_of(path) is not None:
        return []
    try:
        name = format_of(path)
        find = FORMATS[name].find
        if find is not None:
            return sorted(find(path))
        if name == "envi":
            header, data = envi.find_files(path)
            return sorted([header.path, data])
    except (OSError, ValueError):
        # A library, or a file that cannot be read: whoever reads it says why.
        pass
    if path.is_dir():
        return sorted(each for each in path.rglob("*") if each.is_file())
    return [path]


def fingerprint(path: Path) -> str:
    """Return the SHA-256 of a file, or one of the names and hashes of all files in a folder."""
    if path.is_dir():
        total = hashlib.sha256()
        for part in input_files(path):
            total.update(f"{part.relative_to(path).as_posix()} {fingerprint(part)}\n".encode())
        return total.hexdigest()
    # Read in blocks: the file may be larger than memory.
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def parse_bands(text: str) -> list[int]:
    """Return the band indices of a list such as ``1-3,7``, which counts from 1, in rising order."""
    bands: list[int] = []
    for part in text.split(","):
        # Six digits at most, so that a typing error does not ask for billions of bands.
        match = re.fullmatch(r"\s*(\d{1,6})\s*(?:-\s*(\d{1,6})\s*)?", part, re.ASCII)
        if match is None or not 1 <= int(match[1]) <= int(match[2] or match[1]):
            raise InputError(
                f"--bands must be a list like 1-103,109,112-149, counted from 1, got {text!r}"
            )
        bands.extend(range(int(match[1]) - 1, int(match[2] or match[1])))
    if len(set(bands)) < len(bands):
        raise InputError(f"--bands must name each band once, got {text!r}")
    return sorted(bands)


def parse_roi(text: str) -> tuple[slice, slice]:
    """Return the rows and columns of a region such as ``10:60,:80``."""
    wanted = "--roi must be rows and columns like 10:60,20:80, counted from 0"
    # Python refuses to convert thousands of digits; 18 digits fit into 64 bits.
    number = r"(\d{1,18})?"
    bounds = _numbers(rf"{number}:{number}\s*,\s*{number}:{number}", text, wanted)
    return slice(*bounds[:2]), slice(*bounds[2:])


def parse_shape(text: str) -> tuple[int, int]:
    """Return the rows and columns of an image such as ``100,150``."""
    wanted = "--shape must be rows and columns like 100,150"
    # Nine digits at most: an image has no longer side.
    rows, columns = _numbers(r"(\d{1,9})\s*,\s*(\d{1,9})", text, wanted)
    if not rows or not columns:
        raise InputError(f"{wanted}, got {text!r}")
    return rows, columns


def _numbers(pattern: str, text: str, wanted: str) -> list[int | None]:
    """Return the numbers of a pattern; None for those that are left out."""
    match = re.fullmatch(rf"\s*{pattern}\s*", text, re.ASCII)
    if match is None:
        raise InputError(f"{wanted}, got {text!r}")
    return [int(digits) if digits else None for digits in match.groups()]


def describe(source: Source) -> dict[str, Any]:
    """Return the facts about a scene, which is read twice if it does not fit in memory."""
    # The reader process starts before these are imported.
    source.prepare()
    from selfdict.scene.blocks import valid_mask
    from selfdict.scene.inspection import preflight

    scene = source.read()
    if scene.chunks is not None:
        from selfdict.scene.plan import held_in_memory

        scene = held_in_memory(scene)
    n_bands, n_rows, n_columns = scene.shape
    look = preflight(scene)
    n_valid = int(valid_mask(scene.isel(band=look.used)).sum())
    facts: dict[str, Any] = {
        "file": source.label,
        "format": source.format,
        "variable": None,
        "bands": n_bands,
        "rows": n_rows,
        "columns": n_columns,
        "data_type": scene.dtype.name,
        "size_in_memory_mb": round(scene.nbytes / 1e6, 3),
        "first_wavelength_nm": _of_bands(scene, "wavelength")[0],
        "last_wavelength_nm": _of_bands(scene, "wavelength")[-1],
        "first_band_name": _of_bands(scene, "band_name")[0],
        "last_band_name": _of_bands(scene, "band_name")[-1],
        "bad_bands": None,
        "no_data_value": scene.attrs.get("_FillValue"),
        "scale_factor": scene.attrs.get("scale_factor"),
        "add_offset": scene.attrs.get("add_offset"),
        "band_gains": _span(scene, "band_gain"),
        "band_offsets": _span(scene, "band_offset"),
        **_place(scene),
        "valid_pixels": n_valid,
        "valid_share": n_valid / (n_rows * n_columns),
        "bands_left_out": look.left_out.tolist(),
        "findings": [in_command_words(sentence) for sentence in look.sentences],
    }
    if source.format in ("netcdf", "hdf5", "zarr", "mat"):
        facts["variable"] = scene.name
    if "good_band" in scene.coords:
        facts["bad_bands"] = int((~scene["good_band"].values.astype(bool)).sum())
    return facts


def _place(scene: "xr.DataArray") -> dict[str, Any]:
    """Return the CRS and the transform of a scene."""
    from selfdict.scene.metadata import crs_of, transform_of

    place: dict[str, Any] = {"crs": crs_of(scene), "transform": transform_of(scene)}
    if place["crs"] is not None:
        place["crs"] = place["crs"].to_string()
    if place["transform"] is not None:
        # The last three of the nine entries are always 0, 0, 1. Adding 0 makes −0 a plain zero.
        place["transform"] = [entry + 0.0 for entry in list(place["transform"])[:6]]
    return place


def _of_bands(scene: "xr.DataArray", name: str) -> list[Any]:
    """Return a coordinate of the bands; one None if the scene does not have it."""
    if name not in scene.coords:
        return [None]
    values: list[Any] = scene[name].values.tolist()
    return values


def _span(scene: "xr.DataArray", name: str) -> list[float] | None:
    """Return the lowest and the highest number of a coordinate of the bands."""
    values = _of_bands(scene, name)
    if values == [None]:
        return None
    return [min(values), max(values)]


def print_facts(facts: dict[str, Any]) -> None:
    """Print what ``selfdict info`` says about a file: what is known, and its findings."""
    rows = []
    for name, value in facts.items():
        digits = 6
        if name == "transform":
            digits = 10  # metres of a map have seven before the point
        if value is not None and name not in ("findings", "bands_left_out"):
            rows.append((name.replace("_", " "), in_words(value, digits)))
    print_table(rows)
    for sentence in facts["findings"]:
        print_line(sentence)


@cache
def _let_xarray_import_on_use() -> None:
    """Let xarray not import other libraries of arrays before something else does."""
    # It imports dask, pint and CuPy to find out whether an array is one of theirs, which takes as
    # long as the import of xarray itself. Before they are imported, no array is one of theirs.
    # These names are no part of xarray's interface: without them it is only slower.
    compatibility = optional("xarray.namedarray.pycompat")
    utils = optional("xarray.namedarray.utils")
    library_of = getattr(compatibility, "_get_cached_duck_array_module", None)
    is_of_dask = getattr(utils, "is_dask_collection", None)
    if library_of is None or is_of_dask is None:
        return

    def library_if_imported(name: str) -> Any:
        if name in sys.modules or name not in ("dask", "pint", "cupy", "sparse"):
            return library_of(name)
        return SimpleNamespace(type=(), available=False)

    def is_dask_collection(value: Any) -> bool:
        return "dask" in sys.modules and bool(is_of_dask(value))

    compatibility._get_cached_duck_array_module = library_if_imported
    utils.is_dask_collection = is_dask_collection
