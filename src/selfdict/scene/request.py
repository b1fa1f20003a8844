"""The settings of :func:`selfdict.scene.unmix`, checked before anything is read."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from numbers import Integral
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from selfdict._errors import InputError
from selfdict._validation import Array, as_count, as_generator, as_rank
from selfdict.compute.deadline import Deadline
from selfdict.estimators import FGNSR, H2NMF, SNPA, SPA, VCA, XRAY
from selfdict.model.losses import Squared, as_loss
from selfdict.reductions.recipe import N_CLUSTERS
from selfdict.scene.blocks import used_bands, with_mask
from selfdict.scene.candidate_choice import chosen_candidates
from selfdict.scene.identify import check_names
from selfdict.scene.model import as_scene
from selfdict.scene.notes import notes_of
from selfdict.scene.preflight import Preflight, preflight
from selfdict.scene.resampling import ResampledLibrary, resample_library

MOST_MATERIALS = 20  # that are recommended, unless another number is given
# of ``random_state=None``: the same scene gives the same result in every process
DEFAULT_SEED = 0
ABUNDANCES = ("shares", "unit", "nnls", "fcls")
METHODS: dict[str, Any] = {
    "fgnsr": FGNSR,
    "spa": SPA,
    "snpa": SNPA,
    "xray": XRAY,
    "vca": VCA,
    "h2nmf": H2NMF,
}


@dataclass(frozen=True)
class UnmixRequest:
    """The checked settings of one call of :func:`selfdict.scene.unmix`.

    Attributes
    ----------
    scene : xarray.DataArray (band, y, x)
        With the user's mask in its ``valid`` coordinate.
    r : int
        Number of endmembers; the largest to consider if ``auto_rank``.
    auto_rank : bool
        Whether the number is to be found.
    method : str
        A key of ``METHODS``.
    candidates : int or None
        Number of H2NMF clusters; None for all pixels, and for the other methods.
    candidates_reason : str
        Why these are the candidates; empty for the other methods.
    mu : float or "auto"
        The penalty of model (6).
    library : xarray.DataArray (spectrum, band) or None
        At the used bands, without spectra that do not cover them.
    names : xarray.DataArray (spectrum, band) or None
        The library that endmembers are looked up in, as given.
    notes : tuple of str
        What was left out of the scene and of the library.
    endmembers : {"pixels", "average"}
        Whether the endmembers are pixels, or averages over groups of them.
    abundances : {"shares", "unit", "nnls", "fcls"}
        How they are fitted.
    keep_bands : bool
        Whether bands that hold one value in all pixels are used.
    drop_bad_bands : bool
        Whether bands marked as bad are left out.
    bands : (n_bands,) ndarray of bool
        The used ones.
    max_pixels : int or None
        The most pixels the method chooses from.
    check : bool
        Whether the solution is checked against all pixels.
    uncertainty : bool
        Whether the standard errors of the abundances are mapped.
    prove : bool or "auto"
        Whether it is proven how far the groups suffice and are needed; "auto": within a time limit.
    folder : Path or None
        Where the maps are written, absolute.
    seed : int or None
        ``random_state`` if it is a number, for the record.
    options : mapping
        Further parameters of the estimator.
    squared_loss : bool
        Whether these leave the loss squared.
    preflight : Preflight or None
        What a look at the scene found; None before the scene is read.
    deadline : Deadline
        The time limit of all steps together.
    verbose : bool
        Whether the estimator prints its progress.
    """

    scene: xr.DataArray
    r: int
    auto_rank: bool
    method: str
    candidates: int | None
    candidates_reason: str
    mu: float | str
    library: xr.DataArray | None
    names: xr.DataArray | None
    notes: tuple[str, ...]
    endmembers: str
    abundances: str
    keep_bands: bool
    drop_bad_bands: bool
    bands: Array
    max_pixels: int | None
    check: bool
    uncertainty: bool
    prove: bool | str
    folder: Path | None
    seed: int | None
    options: Mapping[str, Any]
    squared_loss: bool
    preflight: Preflight | None = None
    deadline: Deadline = field(default_factory=Deadline)
    verbose: bool = False


def check_request(
    scene: xr.DataArray,
    r: int | str,
    *,
    method: str,
    candidates: int | str | None,
    mu: float | str,
    library: xr.DataArray | None,
    names: xr.DataArray | None,
    endmembers: str,
    abundances: str,
    mask: ArrayLike | None,
    keep_bands: bool,
    drop_bad_bands: bool | None,
    max_pixels: int | None,
    check: bool,
    uncertainty: bool,
    prove: bool | str,
    maps: str | PathLike[str] | None,
    random_state: Any,
    options: Mapping[str, Any],
    max_seconds: float | None = None,
) -> UnmixRequest:
    """Check the parameters of :func:`selfdict.scene.unmix`; no value of the scene is read."""
    deadline = Deadline(max_seconds)
    _check_method(method, abundances)
    if method != "fgnsr" and max_seconds is not None:
        raise InputError(f"a time limit needs the method 'fgnsr', got {method!r}")
    if "dictionary" in options:
        # FGNSR would return indices of its columns, which are no pixels.
        raise InputError("unmix takes no dictionary: pass spectra as library=…, see build_library")
    squared_loss = isinstance(as_loss(options.get("loss")), Squared)
    if check:
        has_dictionary = method == "fgnsr" and (candidates is not None or library is not None)
        if not has_dictionary or not squared_loss:
            raise InputError(
                "check needs the method 'fgnsr' with candidates or a library, and loss='squared'"
            )
        if candidates == "auto":
            candidates = N_CLUSTERS  # with all pixels as candidates there is nothing to check
    if max_pixels is not None:
        max_pixels = as_count(max_pixels, "max_pixels")
    scene = with_mask(as_scene(scene), mask)
    drop_bad_bands = _marks_count(scene, keep_bands, drop_bad_bands)
    bands = used_bands(scene, drop_bad_bands)
    notes: tuple[str, ...] = ()
    if library is not None:
        resampled = _resampled_library(library, scene.isel(band=bands), method)
        notes = (*notes_of(library), *resampled.notes)
        library = resampled.library
        bands = bands.copy()
        bands[np.flatnonzero(bands)[~resampled.bands]] = False
    if names is not None:
        # Before hours of work, not after them.
        check_names(scene.isel(band=bands), names)
    auto_rank = r == "auto"
    if auto_rank:
        r = _most_materials(scene, library)
    r = _checked_rank(r, scene, library)
    n_pixels = scene.sizes["y"] * scene.sizes["x"]
    choice = chosen_candidates(
        candidates,
        is_sought=method == "fgnsr",
        is_plain=library is None and squared_loss,
        n_pixels=n_pixels,
        max_pixels=max_pixels,
        n_bands=int(bands.sum()),
        r=r,
        max_seconds=max_seconds,
    )
    return UnmixRequest(
        scene=scene,
        r=r,
        auto_rank=auto_rank,
        method=method,
        candidates=choice.n_clusters,
        candidates_reason=choice.reason,
        mu=mu,
        library=library,
        names=names,
        notes=notes,
        endmembers=_endmembers(endmembers, method, library),
        abundances=abundances,
        keep_bands=keep_bands,
        drop_bad_bands=drop_bad_bands,
        bands=bands,
        max_pixels=max_pixels,
        check=check,
        uncertainty=uncertainty,
        prove=_proof_wanted(prove, method, options.get("loss")),
        folder=_absolute(maps),
        seed=_recorded_seed(random_state),
        options=options,
        squared_loss=squared_loss,
        deadline=deadline,
    )


def use_sound_bands(
    request: UnmixRequest, look: Preflight | None, client: Any, report: Callable[[float], Any]
) -> UnmixRequest:
    """Return the request without the bands that a look at the scene leaves out.

    The scene is read for that, unless what was seen in it is given.
    """
    if look is None:
        look = preflight(
            request.scene,
            keep_bands=request.keep_bands,
            drop_bad_bands=request.drop_bad_bands,
            client=client,
            progress=report,
        )
    if look.used.shape != request.bands.shape:
        raise InputError(
            f"the preflight is of a scene with {look.used.size} bands, "
            f"this one has {request.bands.size}"
        )
    bands = request.bands & look.used
    if not bands.any():
        raise InputError("no band is left: keep_bands=True uses all of them")
    library = request.library
    if library is not None:
        library = library.isel(band=look.used[request.bands])
    return replace(request, bands=bands, library=library, preflight=look)


def _marks_count(scene: xr.DataArray, keep_bands: bool, drop_bad_bands: bool | None) -> bool:
    """Whether bands marked as bad are left out, as :func:`preflight` decides it."""
    if drop_bad_bands is not None:
        return drop_bad_bands
    if keep_bands or "good_band" not in scene.coords:
        return False
    # Marks on all bands tell nothing.
    return bool(scene["good_band"].values.any())


def _check_method(method: str, abundances: str) -> None:
    if method not in METHODS:
        raise InputError(f"method must be one of {', '.join(METHODS)}, got {method!r}")
    if abundances not in ABUNDANCES:
        raise InputError(f"abundances must be one of {', '.join(ABUNDANCES)}; got {abundances!r}")


def _endmembers(endmembers: str, method: str, library: xr.DataArray | None) -> str:
    """Return what the endmembers are: averages where there are groups, unless pixels are wanted."""
    has_groups = method == "fgnsr" and library is None
    if endmembers == "auto":
        if has_groups:
            return "average"
        return "pixels"
    if endmembers not in ("pixels", "average"):
        raise InputError(f"endmembers must be 'auto', 'pixels' or 'average', got {endmembers!r}")
    if endmembers == "average" and not has_groups:
        if library is not None:
            raise InputError("averages are of pixels: they do not go with a library")
        raise InputError(f"averages need the method 'fgnsr', got {method!r}")
    return endmembers


def _proof_wanted(prove: bool | str, method: str, loss: Any) -> bool | str:
    """Return whether to prove, "auto" only where a proof is possible."""
    if prove == "auto":
        # Proofs are about the gates of model (6), with a loss that has a quadratic dual.
        if method == "fgnsr" and as_loss(loss).quadratic:
            return "auto"
        return False
    if not isinstance(prove, bool):
        raise InputError(f"prove must be True, False or 'auto', got {prove!r}")
    if prove and method != "fgnsr":
        raise InputError(f"proofs need the method 'fgnsr', got {method!r}")
    return prove


def _most_materials(scene: xr.DataArray, library: xr.DataArray | None) -> int:
    """Return the largest number of endmembers that is recommended."""
    n_choices = scene.sizes["y"] * scene.sizes["x"]
    if library is not None:
        n_choices = library.sizes["spectrum"]
    return min(MOST_MATERIALS, n_choices)


def _checked_rank(r: Any, scene: xr.DataArray, library: xr.DataArray | None) -> int:
    if library is not None:
        return as_rank(r, library.sizes["spectrum"])
    return as_rank(r, scene.sizes["y"] * scene.sizes["x"])


def _resampled_library(library: xr.DataArray, scene: xr.DataArray, method: str) -> ResampledLibrary:
    if method != "fgnsr":
        raise InputError(f"a library is searched by the method 'fgnsr', got {method!r}")
    return resample_library(library, scene)


def generator_of(random_state: Any) -> np.random.Generator:
    """Return the generator that a random state stands for."""
    if random_state is None:
        return np.random.default_rng(DEFAULT_SEED)
    return as_generator(random_state)


def _absolute(maps: str | PathLike[str] | None) -> Path | None:
    if maps is None:
        return None
    # Workers of a cluster may have been started in another folder.
    return Path(maps).absolute()


def _recorded_seed(random_state: Any) -> int | None:
    if random_state is None:
        return DEFAULT_SEED
    # NumPy's integers are no int.
    if isinstance(random_state, Integral):
        return int(random_state)
    return None
