"""How many materials to look for in a scene, and why."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from selfdict._validation import as_rank
from selfdict.readout.rank import RankAdvice, advise
from selfdict.scene.inspection import Preflight
from selfdict.scene.model import scene_of
from selfdict.scene.options import MOST_MATERIALS, UnmixOptions
from selfdict.scene.plan import Plan, held_in_memory
from selfdict.scene.points import read_points


def advise_rank(
    scene: xr.DataArray | ArrayLike,
    r_max: int = MOST_MATERIALS,
    *,
    mask: ArrayLike | None = None,
    keep_bands: bool = False,
    preflight: Preflight | None = None,
    client: Any = None,
    random_state: Any = None,
    progress: Callable[[str, float], Any] | None = None,
) -> RankAdvice:
    """Recommend how many materials to look for in a scene, or columns in a matrix, and say why.

    Parameters
    ----------
    scene : xarray.DataArray (band, y, x), a plain array as in :func:`unmix`, or a matrix (m, n)
        The columns of a matrix are the points; the settings that follow are for scenes.
    r_max : int
        The largest number to recommend.
    mask, keep_bands, preflight, client, random_state
        See :func:`unmix`.
    progress : callable, optional
        Called with the step (``"preflight"``, ``"read"``, ``"rank"``) and its share done.

    Returns
    -------
    RankAdvice

    Examples
    --------
    >>> from selfdict.datasets import make_scene
    >>> from selfdict.scene import advise_rank
    >>> scene = make_scene(shape=(24, 24), n_endmembers=3, random_state=0).scene
    >>> advice = advise_rank(scene)
    >>> advice.r, advice.n_alone
    (3, 3)
    """

    def report(step: str, share: float) -> None:
        if progress is not None:
            progress(step, share)

    if not isinstance(scene, xr.DataArray) and np.ndim(scene) == 2:
        M = np.asarray(scene)
        r_max = as_rank(r_max, max(M.shape[1], MOST_MATERIALS), "r_max")
        return advise(M, None, r_max, partial(report, "rank"))
    options = UnmixOptions(
        r="auto",
        mask=mask,
        keep_bands=keep_bands,
        random_state=random_state,
    )
    plan = Plan.of(options, held_in_memory(scene_of(scene), client))
    r_max = as_rank(r_max, max(plan.n_pixels, MOST_MATERIALS), "r_max")
    plan = plan.examined(preflight, client, partial(report, "preflight"))
    plan = replace(plan, r=min(r_max, plan.n_pixels))
    (points,) = read_points([plan], client, partial(report, "read"))
    return advise(points.M, points.sizes, plan.r, partial(report, "rank"))
