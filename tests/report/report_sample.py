"""Results made of patterns, the same on every machine, and scenes to go with them."""

from dataclasses import replace
from typing import Any

import numpy as np
import xarray as xr

from selfdict import Problem, Proof, Solution
from selfdict.model.solution import Status
from selfdict.scene import UnmixResult, build_scene
from selfdict.scene.facts import Fit
from selfdict.scene.inspection import Finding, Preflight
from selfdict.scene.result import Comparison


def pattern(*shape: int, seed: int = 1) -> np.ndarray:
    """Return numbers in 0…1 that look random: fractions of multiples of the golden ratio."""
    return (np.arange(1.0, np.prod(shape) + 1) * seed * 0.6180339887498949 % 1).reshape(shape)


def wavelengths_of(n_bands: int) -> np.ndarray:
    return np.linspace(400.0, 2500.0, n_bands)


def make_solution(n: int = 100, n_support: int = 10, **changes: Any) -> Solution:
    """Return a solution of n candidates, the first of which have the weights 1 to 0.1."""
    diagonal = np.zeros(n)
    diagonal[:n_support] = np.linspace(1, 0.1, n_support)
    problem = Problem(np.ones((2, n)), mu=0.1)
    X = np.diag(diagonal)
    solution = Solution.from_matrix(X, problem, status=Status.CONVERGED)
    return replace(solution, **({"objective": 12.5, "dual_bound": 12.4995} | changes))


def make_proof(needed: list[float], n: int = 100, **changes: Any) -> Proof:
    """Return a proof about groups of one row each."""
    fields = {
        "enough": 0.0132,
        "needed": np.array(needed),
        "limit": 0.02,
        "closed": np.arange(n) > 2,
        "solution": make_solution(n),
        "groups": tuple(np.array([k]) for k in range(len(needed))),
    }
    return Proof(**(fields | changes))


def make_result(
    r: int = 3,
    shape: tuple[int, int] = (20, 30),
    n_bands: int = 40,
    parameters: dict[str, Any] | None = None,
    **changes: Any,
) -> UnmixResult:
    """Return averages over groups and shares with errors, brightness and a proof."""
    n_rows, n_columns = shape
    valid = np.ones(shape, dtype=bool)
    valid[:2] = False
    nothing = np.where(valid, 0.0, np.nan)
    coords = {
        "wavelength": ("band", wavelengths_of(n_bands)),
        "band_number": ("band", np.arange(1, n_bands + 1)),
    }
    endmembers = xr.DataArray(
        0.1 + 0.8 * pattern(r, n_bands), dims=("endmember", "band"), coords=coords
    )
    parts = pattern(r, *shape, seed=3) ** 4
    rows = 2 + np.arange(r) * 7 % max(1, n_rows - 2)
    settings = {
        "method": "fgnsr",
        "r": r,
        "candidates": 100,
        "endmembers": "average",
        "abundances": "shares",
        "n_valid": int(valid.sum()),
    }
    fields: dict[str, Any] = {
        "endmembers": endmembers,
        "pixels": np.column_stack([rows, np.arange(r) * 11 % n_columns]),
        "coordinates": None,
        "crs": None,
        "abundances": _map(parts / parts.sum(axis=0) + nothing),
        "residual": _map(0.1 * pattern(*shape) + nothing),
        "relative_error": 0.0314,
        "solution": make_solution(),
        "solution_pixels": None,
        "parameters": settings | (parameters or {}),
        "seconds": {"select": 0.75, "total": 1.5},
        "groups": tuple(np.zeros((40 + k, 2), dtype=int) for k in range(r)),
        "group_weights": np.linspace(1.2, 0.6, r),
        "spread": endmembers.copy(data=0.02 + 0.02 * pattern(r, n_bands, seed=5)),
        "counts": np.arange(r) + 30,
        "proof": make_proof(np.linspace(0.4567, 0.0019, r).tolist()),
        "uncertainty": _map(0.01 + 0.05 * pattern(r, *shape, seed=7) + nothing),
        "brightness": _map(0.5 + pattern(*shape, seed=2) + nothing),
        "pixel_error": 0.0275,
        "preflight": make_preflight(n_bands, int(valid.sum())),
        "scene": build_scene(pattern(n_bands, *shape), wavelength=wavelengths_of(n_bands)),
    }
    fields |= changes
    fields.setdefault("fit", Fit(fields["relative_error"], 0.025, r))
    return UnmixResult(**fields)


def make_preflight(n_bands: int, n_pixels: int) -> Preflight:
    """Return what the check of a scene of sound bands would say."""
    none = np.zeros(n_bands, dtype=bool)
    sentence = "12 values (0.01 %) in 3 bands are negative and used as they are"
    return Preflight(
        findings=(Finding("negative values", sentence),),
        used=~none,
        dead=none,
        marked=none,
        noisy=none,
        noise=np.full(n_bands, 0.01),
        levels=np.full(n_bands, 0.5),
        numbers=np.arange(1, n_bands + 1),
        n_pixels=n_pixels,
    )


def make_pixel_result(**changes: Any) -> UnmixResult:
    """Return pure pixels and coefficients as SPA finds them, without errors and proofs."""
    parameters = {"method": "spa", "candidates": None, "endmembers": "pixels", "abundances": "nnls"}
    without = ("solution", "groups", "group_weights", "spread", "counts", "proof", "brightness")
    nothing: dict[str, Any] = dict.fromkeys((*without, "uncertainty"))
    changes = nothing | {"pixel_error": 0.0314} | changes
    return make_result(parameters=parameters, **changes)


def make_comparison(r: int = 3) -> tuple[Comparison, ...]:
    return (Comparison("SPA", 0.05, 0.01, np.zeros((r, 2), dtype=int)),)


def _map(values: np.ndarray) -> xr.DataArray:
    return xr.DataArray(values, dims=("endmember", "y", "x")[-values.ndim :])
