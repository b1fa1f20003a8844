"""The number of materials that is recommended for a scene, with the errors of other numbers."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import xarray as xr
from numpy.typing import ArrayLike

from selfdict._validation import as_rank
from selfdict.scene.advice import RankAdvice, advise
from selfdict.scene.early_checks import check_before_reading
from selfdict.scene.plain import scene_of
from selfdict.scene.preflight import Preflight
from selfdict.scene.request import (
    MOST_MATERIALS,
    check_request,
    generator_of,
    use_sound_bands,
)
from selfdict.scene.selection import read_points

# Those of ``unmix``, so that the errors are the ones that it reports.
_DEFAULT_SETTINGS: dict[str, Any] = {
    "method": "fgnsr",
    "candidates": "auto",
    "mu": "auto",
    "endmembers": "auto",
    "abundances": "shares",
    "max_pixels": None,
}


def advise_rank(
    scene: xr.DataArray | ArrayLike,
    r_max: int = MOST_MATERIALS,
    *,
    mask: ArrayLike | None = None,
    keep_bands: bool = False,
    drop_bad_bands: bool | None = None,
    preflight: Preflight | None = None,
    client: Any = None,
    random_state: Any = None,
    progress: Callable[[str, float], Any] | None = None,
    **settings: Any,
) -> RankAdvice:
    """Recommend how many materials to look for in a scene, and say why.

    Parameters
    ----------
    scene : xarray.DataArray (band, y, x), or a plain array
        See :func:`unmix`.
    r_max : int
        The largest number to recommend.
    mask, keep_bands, drop_bad_bands, preflight, client, random_state
        See :func:`unmix`.
    progress : callable, optional
        Called with the step (``"preflight"``, ``"read"``, ``"rank"``) and its share done.
    **settings
        ``method``, ``candidates``, ``mu``, ``endmembers``, ``abundances`` and ``max_pixels`` of
        :func:`unmix`, with the same defaults.

    Returns
    -------
    RankAdvice
        ``errors`` are those that :func:`unmix` reports for 1, 2, … materials.

    Examples
    --------
    >>> from selfdict.datasets import make_scene
    >>> from selfdict.scene import advise_rank
    >>> scene = make_scene(shape=(24, 24), n_endmembers=3, random_state=0).scene
    >>> advice = advise_rank(scene, random_state=0, method="spa")
    >>> advice.r, advice.n_alone
    (3, 3)
    """
    unknown = settings.keys() - _DEFAULT_SETTINGS.keys()
    if unknown:
        raise TypeError(f"advise_rank takes no setting {', '.join(sorted(unknown))}")
    request = check_request(
        scene_of(scene),
        "auto",
        library=None,
        names=None,
        mask=mask,
        keep_bands=keep_bands,
        drop_bad_bands=drop_bad_bands,
        check=False,
        uncertainty=False,
        prove=False,
        maps=None,
        random_state=random_state,
        options={},
        **(_DEFAULT_SETTINGS | settings),
    )
    check_before_reading(request)
    n_pixels = request.scene.sizes["y"] * request.scene.sizes["x"]
    r_max = as_rank(r_max, max(n_pixels, MOST_MATERIALS), "r_max")

    def report(step: str, share: float) -> None:
        if progress is not None:
            progress(step, share)

    request = use_sound_bands(request, preflight, client, partial(report, "preflight"))
    request = replace(request, r=min(r_max, n_pixels))
    generator = generator_of(random_state)
    points = read_points(request, generator, client, partial(report, "read"))
    seed = int(generator.integers(2**31))
    return advise(request, points, seed, client, partial(report, "rank"), curve=True)
