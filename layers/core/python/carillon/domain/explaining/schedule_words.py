"""A schedule in one sentence."""

from carillon.domain.cron import Cron
from carillon.domain.cron_days import bits
from carillon.domain.explaining.day_words import day_words, month_words
from carillon.domain.explaining.phrases import duration_words, many
from carillon.domain.explaining.time_words import is_all_hours, time_words
from carillon.domain.instants import DAY_MS, format_instant
from carillon.domain.schedule import CronSchedule, Every, OneOff, Schedule

_GAP_WORDS = {"shift": "", "skip": "times that the clock skips are left out"}
_OVERLAP_WORDS = {
    "first": "",
    "last": "times that the clock shows twice run the second time",
    "both": "times that the clock shows twice run twice",
}


def schedule_words(schedule: Schedule, window_ms: int = 0, max_runs: int | None = None) -> str:
    """What a schedule means: `At 09:00 on Monday to Friday, Asia/Kolkata time`.

    Args:
        schedule: One of ours.
        window_ms: Over how long the runs of different jobs are spread.
        max_runs: How often the job runs at most, if that is limited.
    """
    most = "" if max_runs is None else f", at most {many(max_runs, 'time')}"
    spread = f"; each job at its own constant delay of up to {duration_words(window_ms)}" if window_ms else ""
    return f"{_words(schedule)}{most}{spread}"


def cron_words(cron: Cron) -> str:
    """What an expression means on any clock."""
    times = tuple(bits(cron.times))
    days, months = day_words(cron), month_words(cron.months)
    if not days and not is_all_hours(times):
        days = "every day"
    if months and (" or " in days or ", " in days):
        days += ","  # the month governs all of it
    return " ".join(words for words in (time_words(times), days, months) if words)


def _words(schedule: Schedule) -> str:
    match schedule:
        case OneOff(at_ms):
            return f"Once, at {format_instant(at_ms)}"
        case Every(interval_ms, anchor_ms, start_ms, end_ms):
            day = ", a day being 24 hours" if interval_ms >= DAY_MS else ""
            bounds = _bounds_words(None if start_ms == anchor_ms else start_ms, end_ms)
            return f"Every {_interval_words(interval_ms)}{day}, counted from {format_instant(anchor_ms)}{bounds}"
        case CronSchedule(expression, timezone, _, _, start_ms, end_ms):
            clock = "UTC" if timezone == "UTC" else f"{timezone} time"
            words = cron_words(Cron.parse(expression))
            return f"{words}, {clock}{_bounds_words(start_ms, end_ms)}{_choice_words(schedule)}"
    raise TypeError(f"no words for {type(schedule).__name__}")


def _interval_words(interval_ms: int) -> str:
    words = duration_words(interval_ms)
    return words.removeprefix("1 ") if words.count(" ") == 1 else words


def _bounds_words(start_ms: int | None, end_ms: int | None) -> str:
    start = "" if start_ms is None else f", not before {format_instant(start_ms)}"
    return start + ("" if end_ms is None else f", not after {format_instant(end_ms)}")


def _choice_words(schedule: CronSchedule) -> str:
    """The choices for changing clocks that are not the usual ones; an expression that follows the clock has none."""
    if Cron.parse(schedule.expression).follows_clock:
        return ""
    chosen = [words for words in (_GAP_WORDS[schedule.dst_gap], _OVERLAP_WORDS[schedule.dst_overlap]) if words]
    return f"; {', '.join(chosen)}" if chosen else ""
