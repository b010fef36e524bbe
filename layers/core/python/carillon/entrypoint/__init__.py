"""What stands between AWS and the use cases: settings, wire models, answers and observability of the functions."""
