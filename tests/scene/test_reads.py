"""How often a scene is read, and comparisons that need no further reading."""

import numpy as np
import pytest
from counting_scene import counted

from selfdict import InputWarning
from selfdict.compute.deadline import Deadline
from selfdict.datasets import make_scene
from selfdict.scene import UnmixOptions, preflight, unmix
from selfdict.scene.choose import choose_others
from selfdict.scene.plan import Plan, read_points


@pytest.fixture(scope="module")
def scene():
    return make_scene((40, 24), n_bands=30, n_endmembers=4, n_outliers=0, random_state=1).scene


@pytest.fixture
def little_memory(monkeypatch):
    """No scene fits into memory, and a block holds a few rows."""
    monkeypatch.setattr("selfdict.scene.plan.physical_memory", lambda: 0.0)
    monkeypatch.setattr("selfdict.scene.blocks.BLOCK_BYTES", 30 * 24 * 4 * 5)


@pytest.mark.usefixtures("little_memory")
@pytest.mark.parametrize("options", [{"candidates": 40}, {"method": "spa"}])
def test_a_scene_is_read_at_most_three_times(scene, options):
    lazy, array = counted(scene)
    result = unmix(lazy, 4, compare=["vca", "snpa"], prove="auto", **options)
    assert len(result.comparison) == 2
    assert array.n_times == 3
    look = preflight(lazy)
    assert array.n_times == 4
    unmix(lazy, 4, preflight=look, **options)
    assert array.n_times == 6


def test_a_scene_that_fits_in_memory_is_read_once(scene):
    lazy, array = counted(scene)
    result = unmix(lazy, "auto", candidates=40, compare=["spa", "vca"], random_state=0)
    assert array.n_times == 1
    expected = unmix(scene, "auto", candidates=40, compare=["spa", "vca"], random_state=0)
    np.testing.assert_array_equal(result.abundances.values, expected.abundances.values)


@pytest.mark.usefixtures("little_memory")
@pytest.mark.parametrize("max_pixels", [None, 200])
def test_a_comparison_is_what_the_methods_give_alone(scene, max_pixels):
    options = {"max_pixels": max_pixels, "random_state": 3}
    result = unmix(scene, 4, candidates=20, compare=["spa", "vca", "fgnsr-10"], **options)
    assert [each.method for each in result.comparison] == ["SPA", "VCA", "FGNSR-10"]
    for compared, method in zip(result.comparison, ("spa", "vca", "fgnsr")):
        further = {"candidates": 10} if method == "fgnsr" else {}
        alone = unmix(scene, 4, method=method, **further, **options)
        np.testing.assert_array_equal(compared.pixels, alone.pixels)
        assert compared.error == pytest.approx(alone.pixel_error, rel=1e-6)
    assert result.pixel_error == pytest.approx(
        unmix(scene, 4, candidates=20, **options).pixel_error, rel=1e-12
    )


def test_a_method_that_fails_is_left_out_of_the_comparison(scene):
    few = scene.isel(band=slice(0, 3))
    with pytest.warns(InputWarning):
        result = unmix(few, 4, candidates=40, compare=["spa"])
    assert result.comparison == ()
    assert any(note.startswith("SPA is left out of the comparison") for note in result.notes)


def test_methods_that_were_run_before_the_time_is_up_are_compared(scene, monkeypatch):
    plan = Plan.of(UnmixOptions(r=4, method="snpa", compare=("spa", "vca")), scene)
    others = [plan.of_method(name) for name in plan.options.compare]
    points = read_points(others, lambda share: None)
    passed = iter([False, True])
    monkeypatch.setattr(Deadline, "passed", property(lambda self: next(passed)))
    choices, notes = choose_others(plan, others, points)
    assert [choice.method for choice in choices] == ["SPA"]
    assert notes == []
    assert plan.deadline.skipped == ["VCA was not run for comparison"]
