"""What holds for all tests: an example of hypothesis may take its time, because a busy machine is no fault."""

from hypothesis import settings

settings.register_profile("carillon", deadline=None)
settings.load_profile("carillon")
