"""The scenes an experiment works on: files the user names, or a generated one."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.io import loadmat

from selfdict._errors import InputError
from selfdict._validation import Array
from selfdict.datasets import make_scene
from selfdict.experiments.paper import PrintedScene
from selfdict.scene import SceneError, matrix, read_scene, valid_mask

_SUFFIXES = {".mat", ".npz", ".hdr", ".tif", ".tiff", ".nc"}
_LAYOUTS = "a .mat or .npz file with Y (bands × pixels), nRow and nCol, or a cube in any format that can be read"


@dataclass(frozen=True)
class Scene:
    """A scene as a matrix.

    Attributes
    ----------
    name : str
        The name of the file, without its ending.
    M : (m, n) ndarray
        Valid pixels as columns, float64, in row-major order.
    valid : (y, x) ndarray of bool
        Which pixels these are.
    reference : (m, k) ndarray or None
        Reference endmembers, where the file has them (``M``).
    axis : (m,) ndarray
        Wavelengths in nm, or band numbers.
    """

    name: str
    M: Array
    valid: Array
    reference: Array | None
    axis: Array

    @property
    def shape(self) -> tuple[int, int]:
        """Bands and pixels."""
        return self.M.shape[0], self.M.shape[1]


def load(path: Path) -> Scene:
    """Read a scene, and the reference endmembers if they stand in the same file."""
    scene = read_scene(path, drop_bad_bands=True)
    M = matrix(scene, clip=True).astype(np.float64)
    reference = _reference(path)
    if reference is not None and reference.shape[0] != M.shape[0]:
        reference = None
    axis = (
        scene["wavelength"].values
        if "wavelength" in scene.coords
        else np.arange(1.0, M.shape[0] + 1)
    )
    return Scene(path.stem, M, valid_mask(scene).values, reference, axis)


def load_all(data: Path | None) -> list[Scene]:
    """Read the file, or all files of the folder that hold a scene."""
    if data is None:
        raise InputError(f"this needs scenes: --data FILE or --data DIR with {_LAYOUTS}")
    if not data.is_dir():
        return [load(data)]
    scenes = [scene for path in _files(data) if (scene := _try(path)) is not None]
    if not scenes:
        raise InputError(f"{data}: no file in this folder holds a scene; wanted: {_LAYOUTS}")
    return scenes


def load_printed(data: Path | None, printed: PrintedScene) -> Scene:
    """Read a scene of the paper: the file named (whatever it is), or the one in the folder that has its size."""
    wanted = f"{printed.wanted()} of the paper, as {_LAYOUTS}"
    if data is None:
        raise InputError(f"this needs --data FILE with {wanted}")
    if not data.is_dir():
        return load(data)
    for path in _files(data):
        if any(pattern in path.stem.lower() for pattern in printed.patterns):
            scene = _try(path)
            if scene is not None and is_printed(scene, printed):
                return scene
    raise InputError(
        f"{data}: no file in this folder is {wanted}; name another scene with --data FILE"
    )


def is_printed(scene: Scene, printed: PrintedScene) -> bool:
    """Return whether the scene has the bands and pixels of the paper's."""
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
    """Return a scene made here, with the truth as reference."""
    truth = make_scene(
        (size, size),
        n_bands,
        n_endmembers,
        noise,
        n_outliers=n_outliers,
        border=1,
        random_state=seed,
    )
    good = truth.scene["good_band"].values
    M = matrix(truth.scene, drop_bad_bands=True, clip=True).astype(np.float64)
    valid = valid_mask(truth.scene, drop_bad_bands=True).values
    name = f"generated r={n_endmembers} noise={noise:g}"
    return Scene(name, M, valid, truth.endmembers.T[good], truth.scene["wavelength"].values[good])


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.suffix.lower() in _SUFFIXES)


def _try(path: Path) -> Scene | None:
    """Return the scene, or None if the file holds something else."""
    try:
        return load(path)
    except SceneError:
        return None


def _reference(path: Path) -> Array | None:
    if path.suffix.lower() == ".npz":
        with np.load(path, allow_pickle=False) as arrays:
            M = arrays.get("M")
    elif path.suffix.lower() == ".mat":
        try:
            M = loadmat(path, variable_names=["M"]).get("M")
        except (
            NotImplementedError,
            ValueError,
        ):  # version 7.3, in which the community stores no reference
            M = None
    else:
        M = None
    return (
        None
        if M is None or M.ndim != 2 or M.dtype.kind not in "iuf"
        else np.asarray(M, dtype=np.float64)
    )
