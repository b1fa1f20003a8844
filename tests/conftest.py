"""Settings shared by all tests."""

import pytest
from hypothesis import HealthCheck, settings

# Compilation makes the first example slow, so no deadline; the same examples in every run of CI.
settings.register_profile(
    "ci", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("ci")


@pytest.fixture
def one_torch_thread():
    """Keep torch from spinning threads beside ours."""
    torch = pytest.importorskip("torch")
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
