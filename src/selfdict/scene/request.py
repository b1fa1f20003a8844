"""The settings of :func:`selfdict.scene.unmix`, checked before anything is read."""

from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from selfdict._errors import InputError
from selfdict._validation import Array, as_rank
from selfdict.estimators import FGNSR, H2NMF, SNPA, SPA, VCA, XRAY
from selfdict.model.losses import Squared, as_loss
from selfdict.scene.blocks import used_bands, with_mask
from selfdict.scene.identify import check_names
from selfdict.scene.model import as_scene
from selfdict.scene.notes import notes_of
from selfdict.scene.resampling import ResampledLibrary, resample_library

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
        Number of endmembers.
    method : str
        A key of ``METHODS``.
    candidates : int or None
        Number of H2NMF clusters; None for all pixels, and for the other methods.
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
    abundances : {"nnls", "fcls", "shares"}
        How they are fitted.
    drop_bad_bands : bool
        As given; ``bands`` is what follows from it.
    bands : (n_bands,) ndarray of bool
        The used ones.
    max_pixels : int or None
        The most pixels the method chooses from.
    check : bool
        Whether the solution is checked against all pixels.
    prove : bool
        Whether it is proven how far the groups suffice and are needed.
    folder : Path or None
        Where the maps are written, absolute.
    seed : int or None
        ``random_state`` if it is a number, for the record.
    options : mapping
        Further parameters of the estimator.
    squared_loss : bool
        Whether these leave the loss squared.
    """

    scene: xr.DataArray
    r: int
    method: str
    candidates: int | None
    mu: float | str
    library: xr.DataArray | None
    names: xr.DataArray | None
    notes: tuple[str, ...]
    endmembers: str
    abundances: str
    drop_bad_bands: bool
    bands: Array
    max_pixels: int | None
    check: bool
    prove: bool
    folder: Path | None
    seed: int | None
    options: Mapping[str, Any]
    squared_loss: bool


def check_request(
    scene: xr.DataArray,
    r: int,
    *,
    method: str,
    candidates: int | None,
    mu: float | str,
    library: xr.DataArray | None,
    names: xr.DataArray | None,
    endmembers: str,
    abundances: str,
    mask: ArrayLike | None,
    drop_bad_bands: bool,
    max_pixels: int | None,
    check: bool,
    prove: bool,
    maps: str | PathLike[str] | None,
    random_state: Any,
    options: Mapping[str, Any],
) -> UnmixRequest:
    """Check the parameters of :func:`selfdict.scene.unmix`; no value of the scene is read."""
    _check_method(method, endmembers, abundances)
    if method != "fgnsr" and (endmembers != "pixels" or prove):
        raise InputError(f"averages and proofs need the method 'fgnsr', got {method!r}")
    if library is not None and endmembers != "pixels":
        raise InputError("averages are of pixels: they do not go with a library")
    if method != "fgnsr":
        candidates = None
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
    scene = with_mask(as_scene(scene), mask)
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
    r = _checked_rank(r, scene, library)
    return UnmixRequest(
        scene=scene,
        r=r,
        method=method,
        candidates=candidates,
        mu=mu,
        library=library,
        names=names,
        notes=notes,
        endmembers=endmembers,
        abundances=abundances,
        drop_bad_bands=drop_bad_bands,
        bands=bands,
        max_pixels=max_pixels,
        check=check,
        prove=prove,
        folder=_absolute(maps),
        seed=_recorded_seed(random_state),
        options=options,
        squared_loss=squared_loss,
    )


def _check_method(method: str, endmembers: str, abundances: str) -> None:
    if method not in METHODS:
        raise InputError(f"method must be one of {', '.join(METHODS)}, got {method!r}")
    if endmembers not in ("pixels", "average"):
        raise InputError(f"endmembers must be 'pixels' or 'average', got {endmembers!r}")
    if abundances not in ("nnls", "fcls", "shares"):
        raise InputError(f"abundances must be 'nnls', 'fcls' or 'shares', got {abundances!r}")


def _checked_rank(r: int, scene: xr.DataArray, library: xr.DataArray | None) -> int:
    if library is not None:
        return as_rank(r, library.sizes["spectrum"])
    return as_rank(r, scene.sizes["y"] * scene.sizes["x"])


def _resampled_library(
    library: xr.DataArray, scene: xr.DataArray, method: str
) -> ResampledLibrary:
    if method != "fgnsr":
        raise InputError(f"a library is searched by the method 'fgnsr', got {method!r}")
    return resample_library(library, scene)


def _absolute(maps: str | PathLike[str] | None) -> Path | None:
    if maps is None:
        return None
    # Workers of a cluster may have been started in another folder.
    return Path(maps).absolute()


def _recorded_seed(random_state: Any) -> int | None:
    if isinstance(random_state, int):
        return random_state
    return None
