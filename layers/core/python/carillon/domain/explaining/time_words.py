"""The times of day of a cron expression in words: `At 09:00`, `Every 15 minutes from 09:00 to 17:45`."""

from collections.abc import Sequence
from itertools import groupby
from typing import Final

from carillon.domain.explaining.phrases import DAY_MINUTES, clock, even_step, joined, ordinal, runs_of

_HOUR_MINUTES: Final = 60
_ALL_HOURS: Final = tuple(range(24))
_ALL_MINUTES: Final = tuple(range(_HOUR_MINUTES))
_FEW_TIMES: Final = 4
_MOST_LISTED: Final = 8
_FEWEST_OF_A_PATTERN: Final = 4


def time_words(times: Sequence[int]) -> str:
    """Words for ascending minutes of the day, which are some minutes of some hours, the same in each of them."""
    step = even_step(times)
    if len(times) > _FEW_TIMES and step is not None:
        return _evenly(times, step)
    if len(times) <= _MOST_LISTED:
        return f"At {joined([clock(time) for time in times])}"
    return _minutes_of_hours(times)


def is_all_hours(times: Sequence[int]) -> bool:
    """Whether every hour of the day has its times."""
    return len({time // _HOUR_MINUTES for time in times}) == len(_ALL_HOURS)


def _evenly(times: Sequence[int], step: int) -> str:
    around_the_clock = step * len(times) == DAY_MINUTES
    if around_the_clock and step <= _HOUR_MINUTES:
        return _minutes_of_hours(times) if times[0] or step == _HOUR_MINUTES else _every(step)
    return f"{_every(step)} from {clock(times[0])} to {clock(times[-1])}"


def _every(step: int) -> str:
    hours, minutes = divmod(step, _HOUR_MINUTES)
    if minutes:
        return "Every minute" if step == 1 else f"Every {step} minutes"
    return "Every hour" if hours == 1 else f"Every {hours} hours"


def _minutes_of_hours(times: Sequence[int]) -> str:
    by_hour = {hour: [time % _HOUR_MINUTES for time in group] for hour, group in groupby(times, _hour)}
    minutes, hours = next(iter(by_hour.values())), tuple(by_hour)
    if hours == _ALL_HOURS and len(minutes) == 1:
        return f"Every hour at {_past(minutes[0])}"
    return f"{_minute_words(minutes)} of {_hour_words(hours)}"


def _hour(time: int) -> int:
    return time // _HOUR_MINUTES


def _minute_words(minutes: Sequence[int]) -> str:
    step = even_step(minutes)
    if tuple(minutes) == _ALL_MINUTES:
        return "Every minute"
    if step is not None and len(minutes) >= _FEWEST_OF_A_PATTERN:
        return f"{_every(step)} from {_past(minutes[0])} to {_past(minutes[-1])}"
    return f"At {joined([_span(_past(first), _past(last)) for first, last in runs_of(minutes)])}"


def _hour_words(hours: Sequence[int]) -> str:
    step = even_step(hours)
    if hours == _ALL_HOURS:
        return "every hour"
    if step is not None and step > 1 and len(hours) >= _FEWEST_OF_A_PATTERN:
        return f"every {ordinal(step)} hour from {hours[0]:02} to {hours[-1]:02}"
    spans = [_span(f"{first:02}", f"{last:02}") for first, last in runs_of(hours)]
    return f"the {'hour' if len(hours) == 1 else 'hours'} {joined(spans)}"


def _span(first: str, last: str) -> str:
    return first if first == last else f"{first} to {last}"


def _past(minute: int) -> str:
    return f":{minute:02}"
