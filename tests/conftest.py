"""Shared by all tests: modules in this folder (`strategies`) can be imported, and hypothesis repeats itself."""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "guerdon", deadline=None, derandomize=True, max_examples=60, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("guerdon")
