"""Compressed middle points, quick version: what the SVD keeps, what random directions lose."""

import pytest
from reproduce.compression import compression
from reproduce.outcome import Request


@pytest.fixture(scope="module")
def outcome():
    return compression(Request(quick=True))


def recovery(outcome, eps):
    rows = outcome.tables["compression"]
    return {(row["method"], row["q"]): row["recovery"] for row in rows if row["eps"] == eps}


def test_svd_keeps_the_robustness_and_few_random_directions_lose_it(outcome):
    low, early = recovery(outcome, 0.05), recovery(outcome, 0.15)
    assert low[("whole", None)] == low[("svd", 10)] == low[("svd", 20)] == low[("svd", 40)] == 1
    assert early[("svd", 20)] >= 0.95 * early[("whole", None)]
    for method in ("gaussian", "srht"):
        assert early[(method, 10)] < early[("svd", 10)]
        assert early[(method, 10)] < early[(method, 40)]


def test_summary_and_figure(outcome):
    summary = outcome.tables["compression_breakdown"]
    assert len(summary) == 10
    assert {row["method"] for row in summary} == {"whole", "svd", "gaussian", "srht"}
    assert len(outcome.figures["compression"].axes) == 3
