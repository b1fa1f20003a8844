"""What ``unmix`` writes beside its record and report: maps, and files for other software."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from selfdict._errors import InputError
from selfdict.cli.source import Source

if TYPE_CHECKING:
    import xarray as xr

    from selfdict.scene import UnmixResult

# The files of ``write_exports``, in the order in which they are written.
EXPORT_NAMES = (
    "endmembers.sli",
    "endmembers.hdr",
    "pixels.geojson",
    "dominant.tif",
    "dominant.tif.aux.xml",
)
# Suffixes of the formats that maps can be written in.
_SUFFIXES = {"envi": ".hdr", "geotiff": ".tif", "netcdf": ".nc", "zarr": ".zarr"}


@dataclass(frozen=True)
class MapFormat:
    """A format, and what there is to say about the choice."""

    name: str
    notes: tuple[str, ...] = ()


def map_format(asked: str | None, source: Source, scene: "xr.DataArray") -> MapFormat:
    """Return the format of the maps: the one asked for, else that of the input if possible."""
    from selfdict.scene import SceneError

    name = asked or _format_of_input(source.file)
    if name != "envi" or _fits_envi(scene):
        return MapFormat(name)
    grid = "an ENVI header cannot hold the grid of this scene, which is mirrored or sheared"
    if asked is not None:
        raise SceneError(source.label, f"{grid}: pass --format geotiff")
    return MapFormat("geotiff", (f"the maps are GeoTIFFs: {grid}",))


def _format_of_input(path: Path) -> str:
    from selfdict.files.formats import format_of

    format = format_of(path)
    # The images of these products are GeoTIFFs as a rule.
    if format in ("enmap", "desis"):
        return "geotiff"
    # MATLAB and NumPy files are only read.
    if format not in _SUFFIXES:
        return "envi"
    return format


def _fits_envi(scene: "xr.DataArray") -> bool:
    """Whether an ENVI header can hold the grid of a scene."""
    from selfdict.files.envi_map import map_fields
    from selfdict.scene.metadata import crs_of, transform_of

    try:
        map_fields(crs_of(scene), transform_of(scene))
    except InputError:
        return False
    return True


def write_maps(result: "UnmixResult", folder: Path, format: MapFormat) -> None:
    """Write the maps of a result into a folder."""
    from selfdict.scene import write_scene

    suffix = _SUFFIXES[format.name]
    write_scene(result.abundances, folder / f"abundances{suffix}", format.name)
    if result.uncertainty is not None:
        write_scene(result.uncertainty, folder / f"uncertainty{suffix}", format.name)
    if result.brightness is not None:
        write_scene(result.brightness, folder / f"brightness{suffix}", format.name)
    write_scene(result.residual, folder / f"residual{suffix}", format.name)


def write_exports(result: "UnmixResult", folder: Path) -> list[str]:
    """Write the exports into a folder, and return what is to be said about them."""
    from selfdict.scene import write_dominant, write_pixels, write_spectra
    from selfdict.scene.exports import has_positions

    named = result.endmembers.assign_coords(name=("endmember", result.labels))
    write_spectra(named, folder / "endmembers.sli")
    write_pixels(result, folder / "pixels.geojson")
    write_dominant(result, folder / "dominant.tif")
    if has_positions(result):
        return []
    return [
        "pixels.geojson has rows and columns only: the place of the scene on Earth is not known"
    ]
