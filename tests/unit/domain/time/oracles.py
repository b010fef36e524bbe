"""Second opinions on the calendar, made in another way: minute by minute with `zoneinfo`, and by cronsim.

`python -m tests.unit.domain.time.oracles 50000 7` compares so many random questions each way, made from the seed 7.
"""

import sys
from calendar import monthrange
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from importlib import resources
from itertools import product
from random import Random
from time import monotonic
from zoneinfo import ZoneInfo

from cronsim import CronSim

from carillon.domain.clock_changes import Gap, Overlap
from carillon.domain.instants import format_instant
from carillon.domain.schedule import CronSchedule
from carillon.domain.zones import find_zone, zone_names

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LONGEST_GAP = timedelta(hours=3)
MONTHS = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"]
WEEKDAYS = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"]
NASTY_ZONES = [
    "Australia/Lord_Howe",
    "Antarctica/Troll",
    "Antarctica/Casey",
    "Africa/Cairo",
    "Asia/Beirut",
    "America/Havana",
    "America/Sao_Paulo",
    "America/Nuuk",
    "Pacific/Apia",
    "Asia/Gaza",
    "Africa/Casablanca",
    "Europe/Dublin",
    "Asia/Kathmandu",
    "Pacific/Chatham",
    "America/Caracas",
    "Asia/Pyongyang",
    "Europe/Berlin",
    "America/New_York",
    "Pacific/Kwajalein",
    "Asia/Tehran",
    "America/St_Johns",
    "Africa/Monrovia",
]
CRONSIM_ZONES = [
    "Europe/Berlin",
    "America/New_York",
    "America/Los_Angeles",
    "Europe/Dublin",
    "America/Toronto",
    "Antarctica/Troll",
    "Asia/Kolkata",
    "UTC",
    "Pacific/Auckland",
    "Europe/London",
    "Australia/Sydney",
]


@lru_cache
def library_zone(name: str) -> ZoneInfo:
    """The zone as Python's library reads it from the same package, past the host's files."""
    with resources.files("tzdata").joinpath("zoneinfo", *name.split("/")).open("rb") as file:
        return ZoneInfo.from_file(file, key=name)


# --- minute by minute -------------------------------------------------------------------------------------------------


def fires_by_brute_force(schedule: CronSchedule, after_ms: int, until_ms: int) -> list[int]:
    """All fires in (after, until]: each local minute that matches, mapped to instants by trying both folds."""
    minute, hour, *day_fields = schedule.expression.upper().split()
    wildcard = minute.startswith("*") or hour.startswith("*")
    gap, overlap = ("skip", "both") if wildcard else (schedule.dst_gap, schedule.dst_overlap)
    zone, found = library_zone(schedule.timezone), set[int]()
    for day in _days(after_ms, until_ms):
        if not _day_matches(day, *day_fields):
            continue
        for h, m in product(_values(hour, 0, 23), _values(minute, 0, 59)):
            found.update(_instants(datetime(day.year, day.month, day.day, h, m, tzinfo=zone), gap, overlap))
    return sorted(ms for ms in found if after_ms < ms <= until_ms)


def _days(after_ms: int, until_ms: int) -> Iterator[date]:
    day = (EPOCH + timedelta(milliseconds=after_ms)).date() - timedelta(days=2)
    while day <= (EPOCH + timedelta(milliseconds=until_ms)).date() + timedelta(days=2):
        yield day
        day += timedelta(days=1)


def _values(field: str, lowest: int, highest: int, names: list[str] | None = None) -> list[int]:
    found = set[int]()
    for entry in field.split(","):
        span, _, step = entry.partition("/")
        first, _, last = span.partition("-")
        low = lowest if first == "*" else _number(first, names, lowest)
        high = highest if first == "*" or (step and not last) else _number(last or first, names, lowest)
        found |= {value for value in range(low, high + 1) if (value - low) % int(step or 1) == 0}
    return sorted(found)


def _number(text: str, names: list[str] | None, lowest: int) -> int:
    return names.index(text) + lowest if names and text in names else int(text)


def _day_matches(day: date, month_day: str, month: str, week_day: str) -> bool:
    if day.month not in _values(month, 1, 12, MONTHS):
        return False
    by_date = any(_date_matches(day, entry) for entry in month_day.replace("?", "*").split(","))
    by_weekday = any(_weekday_matches(day, entry) for entry in week_day.replace("?", "*").split(","))
    starred = month_day[0] in "*?" or week_day[0] in "*?"
    return (by_date and by_weekday) if starred else (by_date or by_weekday)


def _date_matches(day: date, entry: str) -> bool:
    last = monthrange(day.year, day.month)[1]
    if entry == "LW":
        return day == _nearest_workday(day.replace(day=last))
    if entry.startswith("L"):
        return day.day == last - int(entry[2:] or 0)
    if entry.endswith("W"):
        return int(entry[:-1]) <= last and day == _nearest_workday(day.replace(day=int(entry[:-1])))
    return day.day in _values(entry, 1, 31)


def _nearest_workday(day: date) -> date:
    near = (day + timedelta(days=distance) for distance in (0, -1, 1, -2, 2))
    return next(other for other in near if other.month == day.month and other.isoweekday() <= 5)


def _weekday_matches(day: date, entry: str) -> bool:
    if entry.endswith("L"):
        is_last = (day + timedelta(days=7)).month != day.month
        return is_last and day.isoweekday() % 7 == _number(entry[:-1], WEEKDAYS, 0) % 7
    if "#" in entry:
        weekday, nth = entry.split("#")
        return (day.day + 6) // 7 == int(nth) and day.isoweekday() % 7 == _number(weekday, WEEKDAYS, 0) % 7
    return day.isoweekday() % 7 in {value % 7 for value in _values(entry, 0, 7, WEEKDAYS)}


def _instants(local: datetime, gap: Gap, overlap: Overlap) -> list[int]:
    readings = sorted({reading for fold in (0, 1) if (reading := _reading(local.replace(fold=fold))) is not None})
    if not readings:
        return _after_gap(local) if gap == "shift" else []
    return {"first": readings[:1], "last": readings[-1:], "both": readings}[overlap]


def _reading(local: datetime) -> int | None:
    utc = local.astimezone(UTC)
    shown = utc.astimezone(local.tzinfo).replace(tzinfo=None)
    return (utc - EPOCH) // timedelta(milliseconds=1) if shown == local.replace(tzinfo=None) else None


def _after_gap(local: datetime) -> list[int]:
    """Step to the first minute on either side that the clock shows; the gap is what the offset gained between them."""
    before = after = local.replace(fold=0, tzinfo=None)
    while _reading(after.replace(tzinfo=local.tzinfo)) is None:
        after += timedelta(minutes=1)
    while _reading(before.replace(tzinfo=local.tzinfo)) is None:
        before -= timedelta(minutes=1)
    offsets = [side.replace(tzinfo=local.tzinfo).utcoffset() or timedelta() for side in (before, after)]
    reading = _reading(after.replace(tzinfo=local.tzinfo))
    return [reading] if reading is not None and offsets[1] - offsets[0] <= LONGEST_GAP else []


# --- cronsim ----------------------------------------------------------------------------------------------------------


def next_by_cronsim(expression: str, zone: str, after_ms: int) -> int | None:
    """Cronsim's next fire, behind a fence.

    Cronsim 2.8 may answer an instant before the question inside the second pass of a repeated hour: it is asked again
    from there. For wildcards it is wrong where changes are not of whole hours, and where the gap is at midnight: such
    zones are not in `CRONSIM_ZONES`.
    """
    start = (EPOCH + timedelta(milliseconds=after_ms)).astimezone(library_zone(zone))
    answers = CronSim(expression, start)
    for answer in answers:
        instant = (answer.astimezone(UTC) - EPOCH) // timedelta(milliseconds=1)
        if instant > after_ms:
            return instant
    return None


# --- random questions -------------------------------------------------------------------------------------------------


def random_expression(random: Random, *, extended: bool) -> str:
    """A valid expression, dense enough to fire within days; `extended` adds what cronsim does not know."""
    minute = random.choice(["*", "*/7", "*/20", "0", "30", "0,30", "15-45/10", str(random.randrange(60)), "5/25"])
    hour = random.choice(["*", "*/2", "0-4", "1,2,3", "2", "1", "0", "23", str(random.randrange(24)), "1-23/2", "22/1"])
    month_days = ["*"] * 8 + ["1-31", "*/2", "1,15,L", "LW", "L", "25-31", str(random.randrange(1, 29))]
    week_days = ["*"] * 8 + ["0", "7", "MON-FRI", "*/2", "1-7/2", "SUN,WED", "6#1", "0L", "0#5", "5/1"]
    if extended:
        month_days += ["?", "L-2", "1W", "15W", "31W,2", "L-1,LW"]
        week_days += ["?", "SUNL", "SAT#2,3L", "1#1,1#3"]
    month = random.choice(["*"] * 6 + ["3-4,10-11", "*/2", "MAR,NOV", "1-12"])
    return f"{minute} {hour} {random.choice(month_days)} {month} {random.choice(week_days)}"


def random_instant_near_a_change(random: Random, zone: str) -> int:
    """An instant within two days of some clock change since 1975; any instant where clocks never change."""
    span = find_zone(zone).span_at(random.randrange(160_000_000, 4_100_000_000))
    edge = random.choice([span.start_s, span.end_s])
    if not 160_000_000 < edge < 8_000_000_000:
        edge = random.randrange(160_000_000, 4_100_000_000)
    second = edge + random.choice([0, -1, 1, random.randrange(-7200, 7200), random.randrange(-172_800, 172_800)])
    return second * 1000 + random.choice([0, 0, 1, 500, 999])


def differences_from_brute_force(random: Random, questions: int) -> list[str]:
    """Compare all fires of three days: forwards, backwards, counted."""
    found = []
    for _ in range(questions):
        zone = random.choice([*NASTY_ZONES, random.choice(sorted(zone_names()))])
        gap: Gap = random.choice(["shift", "shift", "skip"])
        overlap: Overlap = random.choice(["first", "first", "last", "both"])
        schedule = CronSchedule(random_expression(random, extended=True), zone, gap, overlap)
        after_ms = random_instant_near_a_change(random, zone)
        until_ms = after_ms + random.randrange(1, 3 * 86_400_000)
        expected = fires_by_brute_force(schedule, after_ms, until_ms)
        answers = (
            list(schedule.between(after_ms, until_ms)),
            list(schedule.newest(after_ms, until_ms, len(expected) + 1)),
        )
        if answers != (expected, expected) or schedule.count(after_ms, until_ms) != len(expected):
            found.append(f"{schedule} in ({format_instant(after_ms)}, {format_instant(until_ms)}]")
    return found


def differences_from_cronsim(random: Random, questions: int) -> list[str]:
    """Compare next fires, in zones whose changes are of whole hours, by the default rule."""
    found = []
    for _ in range(questions):
        zone = random.choice(CRONSIM_ZONES)
        expression = random_expression(random, extended=False)
        after_ms = random_instant_near_a_change(random, zone) if random.random() < 0.7 else random.randrange(2 * 10**12)
        answer, expected = (
            CronSchedule(expression, zone).next_after(after_ms),
            next_by_cronsim(expression, zone, after_ms),
        )
        if answer != expected:
            found.append(f"{expression} {zone} after {format_instant(after_ms)}: {answer}, cronsim {expected}")
    return found


def main(questions: int, seed: int) -> int:
    """Ask so many questions of each kind; print the differences and, last, a summary.

    Returns:
        The exit code: 1 when there is any difference.
    """
    random, begin = Random(seed), monotonic()  # noqa: S311 - reproducible, not secret
    found = differences_from_cronsim(random, questions)
    found += differences_from_brute_force(random, questions)
    sys.stdout.writelines(f"{difference}\n" for difference in found)
    seconds = monotonic() - begin
    print(f"cronsim={questions} brute_force={questions} {seed=} differences={len(found)} {seconds=:.0f}")  # noqa: T201 - the answer
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 20261130))
