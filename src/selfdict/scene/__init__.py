"""Hyperspectral cubes: read, mask, unmix, write.

A scene is an ``xarray.DataArray (band, y, x)``.
"""

from importlib.util import find_spec

from selfdict._optional import optional

# Before the modules below import it, so that an error names the extra to install.
optional("xarray")
# It takes a second to import, and is needed where a CRS is set or written.
if find_spec("rioxarray") is None:
    optional("rioxarray")

from selfdict.files.errors import SceneError  # noqa: E402
from selfdict.scene.accessor import SelfdictAccessor  # noqa: E402
from selfdict.scene.advice import RankAdvice, advise_rank  # noqa: E402
from selfdict.scene.blocks import matrix, valid_mask  # noqa: E402
from selfdict.scene.exports import write_dominant, write_pixels  # noqa: E402
from selfdict.scene.files import read_scene, write_scene, write_spectra  # noqa: E402
from selfdict.scene.identify import Identification, Match, identify  # noqa: E402
from selfdict.scene.library import build_library, read_library  # noqa: E402
from selfdict.scene.metadata import crs_of, transform_of  # noqa: E402
from selfdict.scene.model import as_scene, build_scene  # noqa: E402
from selfdict.scene.options import UnmixOptions  # noqa: E402
from selfdict.scene.preflight import Preflight, preflight  # noqa: E402
from selfdict.scene.resampling import (  # noqa: E402
    ResampledLibrary,
    match_wavelengths,
    resample_library,
)
from selfdict.scene.result import Comparison, UnmixResult  # noqa: E402
from selfdict.scene.unmix import unmix  # noqa: E402
from selfdict.scene.whole import SceneCheck  # noqa: E402

__all__ = [
    "Comparison",
    "Identification",
    "Match",
    "Preflight",
    "RankAdvice",
    "ResampledLibrary",
    "SceneCheck",
    "SceneError",
    "SelfdictAccessor",
    "UnmixOptions",
    "UnmixResult",
    "advise_rank",
    "as_scene",
    "build_library",
    "build_scene",
    "crs_of",
    "identify",
    "match_wavelengths",
    "matrix",
    "preflight",
    "read_library",
    "read_scene",
    "resample_library",
    "transform_of",
    "unmix",
    "valid_mask",
    "write_dominant",
    "write_pixels",
    "write_scene",
    "write_spectra",
]
