"""What ``unmix`` writes for other software: spectra, pure pixels, the dominant material."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from selfdict.scene import UnmixResult

# The files of ``write_exports``, in the order in which they are written.
EXPORT_NAMES = (
    "endmembers.sli",
    "endmembers.hdr",
    "pixels.geojson",
    "dominant.tif",
    "dominant.tif.aux.xml",
)


def write_exports(result: "UnmixResult", folder: Path) -> list[str]:
    """Write the exports into a folder, and return what is to be said about them."""
    from selfdict.scene import write_dominant, write_pixels, write_spectra
    from selfdict.scene.pixel_export import has_positions

    named = result.endmembers.assign_coords(name=("endmember", result.labels))
    write_spectra(named, folder / "endmembers.sli")
    write_pixels(result, folder / "pixels.geojson")
    write_dominant(result, folder / "dominant.tif")
    if has_positions(result):
        return []
    return [
        "pixels.geojson has rows and columns only: the place of the scene on Earth is not known"
    ]
