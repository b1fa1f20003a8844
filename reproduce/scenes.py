"""The scenes of the experiments: files given by the user, or a generated scene."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.io import loadmat

from reproduce.outcome import Request
from reproduce.paper import PrintedScene
from selfdict import InputError
from selfdict._validation import Array
from selfdict.datasets import make_scene
from selfdict.scene import SceneError, matrix, read_scene, valid_mask

# Endings of the files of a folder that are tried.
_SCENE_SUFFIXES = {".mat", ".npz", ".hdr", ".tif", ".tiff", ".nc"}
# For error messages.
_LAYOUTS = (
    "a .mat or .npz file with Y (bands × pixels), nRow and nCol, or a cube in any format that can "
    "be read"
)


@dataclass(frozen=True)
class Scene:
    """A scene as a matrix: its valid pixels are the columns of M, row by row, in float64.

    ``valid`` (y, x) says which pixels these are. ``reference`` (m, k) are the reference endmembers,
    if the file has them, and ``axis`` (m,) the wavelengths in nm, or the band numbers.
    """

    name: str
    M: Array
    valid: Array
    reference: Array | None
    axis: Array

    @property
    def shape(self) -> tuple[int, int]:
        """Number of bands and of pixels."""
        return self.M.shape[0], self.M.shape[1]


def load(path: Path) -> Scene:
    """Read a scene, and the reference endmembers if the same file has them."""
    scene = read_scene(path, drop_bad_bands=True)
    # The methods need nonnegative data; negative reflectances are noise.
    M = np.maximum(matrix(scene), 0).astype(np.float64)
    if M.shape[1] == 0:
        raise SceneError(path, "the scene has no valid pixel")
    reference = _reference(path)
    # Bands that were dropped from the scene are still in the reference: they cannot be compared.
    if reference is not None and reference.shape[0] != M.shape[0]:
        reference = None
    axis = np.arange(1.0, M.shape[0] + 1)
    if "wavelength" in scene.coords:
        axis = scene["wavelength"].values
    return Scene(path.stem, M, valid_mask(scene).values, reference, axis)


def requested_scenes(request: Request) -> list[Scene]:
    """Return the scenes of --data, or a small generated one in the quick version."""
    if request.quick:
        return [generated(seed=request.seed)]
    return load_all(request.data)


def load_all(data: Path | None) -> list[Scene]:
    """Read the file, or all files of the folder that contain a scene."""
    if data is None:
        raise InputError(f"this needs scenes: --data FILE or --data DIR with {_LAYOUTS}")
    if not data.is_dir():
        return [load(data)]
    scenes = []
    for path in _files(data):
        scene = _load_if_scene(path)
        if scene is not None:
            scenes.append(scene)
    if not scenes:
        raise InputError(f"{data}: no file in this folder holds a scene; wanted: {_LAYOUTS}")
    return scenes


def load_printed(data: Path | None, printed: PrintedScene) -> Scene:
    """Read a scene of the paper.

    A file is read whatever it contains. Of a folder, the file with the name and the size of the
    scene is read.
    """
    wanted = f"{printed.wanted()} of the paper, as {_LAYOUTS}"
    if data is None:
        raise InputError(f"this needs --data FILE with {wanted}")
    if not data.is_dir():
        return load(data)
    for path in _files(data):
        # The name is checked first, since reading large scenes takes time.
        if printed.pattern in path.stem.lower():
            scene = _load_if_scene(path)
            if scene is not None and is_printed(scene, printed):
                return scene
    raise InputError(
        f"{data}: no file in this folder is {wanted}; name another scene with --data FILE"
    )


def is_printed(scene: Scene, printed: PrintedScene) -> bool:
    """Return whether the scene has as many bands and pixels as the paper's."""
    return scene.shape == (printed.bands, printed.pixels)


def own_rank(scene: Scene) -> int:
    """Return the number of reference endmembers."""
    if scene.reference is None:
        raise InputError(
            f"{scene.name} has no reference endmembers to take the rank from: give it with --rank"
        )
    return int(scene.reference.shape[1])


def generated(
    n_endmembers: int = 4,
    size: int = 26,
    n_bands: int = 40,
    noise: float = 0.01,
    n_outliers: int = 3,
    seed: int = 0,
) -> Scene:
    """Return a generated scene, with its endmembers as the reference."""
    truth = make_scene(
        (size, size),
        n_bands,
        n_endmembers,
        noise,
        n_outliers=n_outliers,
        border=1,
        random_state=seed,
    )
    # Without the bad bands, as files are read.
    good = truth.scene["good_band"].values
    M = np.maximum(matrix(truth.scene, drop_bad_bands=True), 0).astype(np.float64)
    valid = valid_mask(truth.scene, drop_bad_bands=True).values
    name = f"generated r={n_endmembers} noise={noise:g}"
    return Scene(name, M, valid, truth.endmembers.T[good], truth.scene["wavelength"].values[good])


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.suffix.lower() in _SCENE_SUFFIXES)


def _load_if_scene(path: Path) -> Scene | None:
    """Return the scene, or None if the file contains something else."""
    # A folder of scenes may also contain their references or other results.
    try:
        scene = load(path)
        reference = _reference(path)
    except SceneError:
        return None
    # As many "bands" as endmembers: these are the abundances that belong to them, and no scene.
    if scene.reference is None and reference is not None and reference.shape[1] == len(scene.M):
        return None
    return scene


def _reference(path: Path) -> Array | None:
    """Return the reference endmembers ``M`` of a .mat or .npz file, if it has any."""
    suffix = path.suffix.lower()
    M = None
    if suffix == ".npz":
        try:
            with np.load(path, allow_pickle=False) as arrays:
                M = arrays.get("M")
        except ValueError as error:
            # Python objects instead of numbers, which are not loaded since they can run code.
            raise SceneError(path, f"the reference endmembers M: {error}") from error
    elif suffix == ".mat":
        try:
            M = loadmat(path, variable_names=["M"]).get("M")
        except (NotImplementedError, ValueError):
            # Version 7.3, in which the community stores no reference.
            M = None
    if M is None or M.ndim != 2 or M.shape[1] == 0 or M.dtype.kind not in "iuf":
        return None
    return np.asarray(M, dtype=np.float64)
