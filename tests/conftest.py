"""Settings shared by all tests."""

from hypothesis import HealthCheck, settings

# Compilation makes the first example slow, so no deadline; the same examples in every run of CI.
settings.register_profile("ci", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("ci")
