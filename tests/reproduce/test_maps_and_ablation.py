"""Spectra, abundance maps and the ablation, in their quick versions."""

from dataclasses import replace

import numpy as np
import pytest
from reproduce.ablation import ablation
from reproduce.maps import abundance_maps, endmembers
from reproduce.outcome import Request

from reproduce import maps, paper, scenes
from selfdict import SPA


@pytest.fixture
def quick_choice(monkeypatch):
    """Pure pixels by SPA: what is tested is what is made of them."""
    monkeypatch.setattr(maps, "FGNSR", SPA)


def test_endmembers_are_pixels_of_the_scene(quick_choice):
    rows = endmembers(Request(quick=True)).tables["endmembers"]
    scene = scenes.generated(seed=0)
    pixels = sorted({row["pixel"] for row in rows})
    assert len(pixels) == 4
    values = {(row["pixel"], row["band"]): row["value"] for row in rows}
    for k in pixels:
        assert [values[k, band] for band in scene.axis] == pytest.approx(scene.M[:, k])


def test_abundance_maps_belong_to_the_pixels_shown(quick_choice):
    outcome = abundance_maps(Request(quick=True))
    scene = scenes.generated(seed=0)
    for row in outcome.tables["abundance-maps"]:
        assert (
            scene.valid[: row["row"]].sum() + scene.valid[row["row"], : row["column"]].sum()
            == row["pixel"]
        )
    images = [
        ax.get_images()[0].get_array()
        for ax in outcome.figures["abundance-maps"].axes
        if ax.get_images()
    ]
    assert len(images) == 4
    first = outcome.tables["abundance-maps"][0]
    assert images[0][first["row"], first["column"]] == pytest.approx(1)
    assert np.ma.count_masked(np.ma.masked_invalid(images[0])) == (~scene.valid).sum()


def test_the_papers_scenes_are_shown_as_in_the_paper_too(quick_choice, monkeypatch):
    bands, pixels = scenes.generated(seed=0).shape
    monkeypatch.setattr(
        maps, "_SHOWN", ((replace(paper.URBAN, bands=bands, pixels=pixels), 3, 20),)
    )
    outcome = abundance_maps(Request(quick=True))
    assert len(outcome.tables["abundance-maps"]) == 6
    titles = [ax.get_title(loc="left") for ax in outcome.figures["abundance-maps"].axes]
    assert "FGNSR-20, r = 3" in titles[0]
    assert "FGNSR, r = 3" in titles[3]


def test_ablation_compares_every_selection_on_the_same_solution():
    outcome = ablation(Request(quick=True))
    rows, summary = outcome.tables["ablation"], outcome.tables["ablation_summary"]
    assert all(row["gap"] <= 1e-3 for row in rows)
    assert all(row["relative_error"] >= row["svd_limit"] for row in rows)
    assert min(line["worst_excess_generated"] for line in summary) == pytest.approx(0)
    exchange = [
        line["worst_excess_generated"] for line in summary if line["selection"] == "exchange"
    ]
    assert max(exchange) < 5
