"""Settings that hold for all tests."""

from hypothesis import settings

settings.register_profile("steady", derandomize=True, deadline=None, max_examples=60, print_blob=True)
settings.load_profile("steady")
