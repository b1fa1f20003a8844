"""Settings shared by all tests."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# Compilation makes the first example slow, so no deadline; the same examples in every run of CI.
settings.register_profile(
    "ci", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("ci")

TESTS = Path(__file__).parent
# The files that take longest. A file runs on one of several processes as a whole: if these come
# first, the short ones at the end let all processes finish at about the same time.
SLOW = [
    "scene/test_dask.py",
    "fuzz/test_fuzz.py",
    "reproduce/test_midpoint_figures.py",
    "docs/test_pages.py",
    "report/test_report_in_browser.py",
    "cli/test_cli_ends_well.py",
    "files/test_hostile.py",
    "test_architecture.py",
]


def pytest_addoption(parser):
    """Let the files that texts are compared with be written anew."""
    parser.addoption("--renew-golden", action="store_true", help="write golden files anew")


def pytest_collection_modifyitems(items):
    """Let the slow files come first; the others, and the tests of a file, keep their order."""
    places = {TESTS / name: place for place, name in enumerate(SLOW)}
    items.sort(key=lambda item: places.get(item.path, len(SLOW)))


@pytest.fixture
def one_torch_thread():
    """Keep torch from spinning threads beside ours."""
    torch = pytest.importorskip("torch")
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
