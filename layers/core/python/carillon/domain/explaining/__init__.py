"""Schedules in plain words: what they mean, what comes next, and what to watch for."""
