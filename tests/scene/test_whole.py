"""Every pixel of a scene as a candidate, block by block: the same as in memory."""

import numpy as np
import pytest

from selfdict import mu_heuristic
from selfdict.datasets import make_scene
from selfdict.model.problem import jitter
from selfdict.model.solution import Progress
from selfdict.scene import UnmixOptions, choose, matrix, unmix, valid_mask
from selfdict.scene import blocks as blocks_module
from selfdict.scene.plan import Plan
from selfdict.solvers.working_set import working_set


@pytest.fixture
def in_small_blocks(monkeypatch):
    monkeypatch.setattr("selfdict.scene.plan.physical_memory", lambda: 0.0)
    monkeypatch.setattr(blocks_module, "BLOCK_BYTES", 20_000)


def report(share):
    assert 0 <= share <= 1


def scene():
    return make_scene((24, 25), n_bands=30, n_endmembers=3, noise=0.01, random_state=0).scene


@pytest.mark.usefixtures("in_small_blocks")
def test_blocks_give_the_optimum_of_all_pixels():
    # single precision cannot hold an X with such a gap
    double = scene().astype(np.float64)
    mu = mu_heuristic(matrix(double, drop_bad_bands=True), 3)
    options = UnmixOptions.of(3, candidates=None, mu=mu, tol=1e-8, random_state=0)
    plan, _ = Plan.of(options, double).examined(None, report)
    found, check = choose.solve_scene(plan, report)
    used = double.isel(band=plan.bands)
    M = matrix(used)
    exact = working_set(M, mu, p=jitter(M.shape[1], plan.seed), tol=1e-8)
    assert check.objective == pytest.approx(exact.objective, rel=1e-6)
    assert check.gap <= 1e-8
    positions = np.flatnonzero(valid_mask(used))[exact.support]
    np.testing.assert_array_equal(found.pixels, positions)
    result = unmix(double, 3, candidates=None, random_state=0)
    assert result.check.gap <= 1e-2
    assert "block by block" in result.parameters["candidates_reason"]


@pytest.mark.parametrize(("tol", "used"), [(None, 1e-2), (0, 0), (0.5, 0.5)])
@pytest.mark.usefixtures("in_small_blocks")
def test_zero_tolerance_is_honoured(monkeypatch, tol, used):
    def spy(*arguments, tol, callback, **options):
        assert tol == used
        for gap in (2.0, 0.1, 0.0):
            callback(Progress(1, 1.0, gap, 0.0, mu=1.0, residual=1.0, trace=3.0, n_active=3))
        return solve_blocks(*arguments, tol=max(tol, 0.1), **options)

    solve_blocks = choose.solve_blocks
    monkeypatch.setattr(choose, "solve_blocks", spy)
    unmix(scene(), 3, candidates=None, tol=tol, progress=lambda _, share: report(share))


def test_a_scene_that_fits_is_solved_in_memory():
    result = unmix(scene(), 3, candidates=None, random_state=0)
    assert result.check is None
    assert result.solution.diagonal.size == result.n_valid
