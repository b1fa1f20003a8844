# The public names and where they are defined. Type checkers and editors read this file, and
# __init__.py imports a name from where it is said here, on first use.

from selfdict._errors import SceneError as SceneError
from selfdict.readout import RankAdvice as RankAdvice
from selfdict.scene.blocks import matrix as matrix
from selfdict.scene.blocks import valid_mask as valid_mask
from selfdict.scene.choose import SceneCheck as SceneCheck
from selfdict.scene.exports import write_dominant as write_dominant
from selfdict.scene.exports import write_pixels as write_pixels
from selfdict.scene.exports import write_spectra as write_spectra
from selfdict.scene.facts import Fit as Fit
from selfdict.scene.facts import Patch as Patch
from selfdict.scene.identification import Identification as Identification
from selfdict.scene.identification import Match as Match
from selfdict.scene.identification import identify as identify
from selfdict.scene.inspection import Preflight as Preflight
from selfdict.scene.inspection import preflight as preflight
from selfdict.scene.library import build_library as build_library
from selfdict.scene.library import read_library as read_library
from selfdict.scene.library import resample_library as resample_library
from selfdict.scene.metadata import crs_of as crs_of
from selfdict.scene.metadata import transform_of as transform_of
from selfdict.scene.model import SelfdictAccessor as SelfdictAccessor
from selfdict.scene.model import as_scene as as_scene
from selfdict.scene.model import build_scene as build_scene
from selfdict.scene.options import UnmixOptions as UnmixOptions
from selfdict.scene.read import read_scene as read_scene
from selfdict.scene.result import Comparison as Comparison
from selfdict.scene.result import UnmixResult as UnmixResult
from selfdict.scene.unmixing import advise_rank as advise_rank
from selfdict.scene.unmixing import unmix as unmix
from selfdict.scene.write import write_scene as write_scene
