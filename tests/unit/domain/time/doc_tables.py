"""The tables of docs/time.md, made from the code: `python -m tests.unit.domain.time.doc_tables` writes them anew."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from carillon.domain.clock_changes import Gap, Overlap
from carillon.domain.cron import Cron
from carillon.domain.durations import format_duration, parse_duration
from carillon.domain.explaining.schedule_words import cron_words
from carillon.domain.instants import format_instant, parse_instant
from carillon.domain.schedule import CronSchedule, OneOff, ScheduleError
from carillon.domain.zones import find_zone
from tests.unit.domain.time.doc_outage import after_an_outage
from tests.unit.domain.time.tables import utc

PAGE = Path(__file__).parents[4] / "docs" / "time.md"
NEW_YORK = "America/New_York"
GAPS: tuple[Gap, ...] = ("shift", "skip")
OVERLAPS: tuple[Overlap, ...] = ("first", "last", "both")
_BLOCK = re.compile(r"(<!-- table: (?P<name>[a-z-]+) -->\n)(?P<table>.*?)(<!-- end of table -->)", re.DOTALL)


@dataclass(frozen=True)
class Night:
    """A stretch of one zone's time with a clock change in it, and jobs to show there. Instants in UTC."""

    zone: str
    first: str
    end: str
    jobs: tuple[str, ...]
    dated: bool = False

    def runs(self, job: str, gap: Gap = "shift", overlap: Overlap = "first") -> str:
        """The runs of a job in that stretch, as the clock shows them."""
        zone, schedule = find_zone(self.zone), CronSchedule(job, self.zone, gap, overlap)
        texts = [zone.local_text(at_ms) for at_ms in schedule.between(utc(self.first) - 1, utc(self.end) - 1)]
        return ", ".join(f"{text[:11] * self.dated}{text[11:16]}{text[23:]}" for text in texts) or "–"


SPRING = Night(
    NEW_YORK,
    "2025-03-09T05:30",
    "2025-03-09T08:30",
    (
        "30 2 * * *",
        "0 2 * * *",
        "0,15,30 2 * * *",
        "0,30 2,3 * * *",
        "30 1 * * *",
        "0-59/30 0-23 * * *",
        "*/30 2 * * *",
        "30 */2 * * *",
        "*/30 * * * *",
    ),
)
AUTUMN = Night(
    NEW_YORK,
    "2025-11-02T04:30",
    "2025-11-02T08:30",
    (
        "30 1 * * *",
        "0 1 * * *",
        "0,30 1,2 * * *",
        "30 2 * * *",
        "0-59/30 0-23 * * *",
        "*/30 1 * * *",
        "30 1-23/2 * * *",
        "30 */2 * * *",
        "*/30 * * * *",
    ),
)
LORD_HOWE_SPRING = Night(
    "Australia/Lord_Howe",
    "2025-10-04T14:30",
    "2025-10-04T17:00",
    ("15 2 * * *", "0 2 * * *", "30 2 * * *", "15,45 1,2 * * *", "*/15 2 * * *", "45 * * * *"),
)
LORD_HOWE_AUTUMN = Night(
    "Australia/Lord_Howe",
    "2025-04-05T14:00",
    "2025-04-05T16:30",
    ("45 1 * * *", "30 1 * * *", "0 2 * * *", "15,45 1,2 * * *", "*/15 1 * * *", "30 * * * *"),
)
KOLKATA = Night(
    "Asia/Kolkata",
    "2025-03-08T19:30",
    "2025-03-08T22:30",
    ("30 2 * * *", "0,30 1,2 * * *", "*/30 2 * * *", "*/30 * * * *"),
)
SKIPPED_DAY = Night("Pacific/Apia", "2011-12-29T10:00", "2012-01-01T10:00", ("0 12 * * *", "0 */12 * * *"), dated=True)
DAYS = (
    (NEW_YORK, "2025-03-09T05:00", "2025-03-10T04:00"),
    (NEW_YORK, "2025-11-02T04:00", "2025-11-03T05:00"),
    ("Australia/Lord_Howe", "2025-10-04T13:30", "2025-10-05T13:00"),
    ("Australia/Lord_Howe", "2025-04-05T13:00", "2025-04-06T13:30"),
    ("Asia/Kolkata", "2025-03-08T18:30", "2025-03-09T18:30"),
)
EACH_DAY = ("*/15 * * * *", "0 * * * *", "0 9 * * *")
LOCAL_TIMES = (
    ("2025-03-09T01:30:00", NEW_YORK),
    ("2025-03-09T02:30:00", NEW_YORK),
    ("2025-11-02T01:30:00", NEW_YORK),
    ("2025-10-05T02:15:00", "Australia/Lord_Howe"),
    ("2011-12-30T12:00:00", "Pacific/Apia"),
)
EXPRESSIONS = (
    "0 9 1,15 * 1",
    "0 9 */2 * 1",
    "0 0 1-31 * 1",
    "0 0 31 2 1",
    "0 0 31 2 *",
    "0 0 31 2,4,6 *",
    "0 0 29 2 *",
    "5/15 * * * *",
    "0 0 1/1 * *",
    "*/7 * * * *",
    "*/60 * * * *",
    "*/90 * * * *",
    "*/0 * * * *",
    "0 9 * * */7",
    "0 9 * * 5-7",
    "0 9 * * 0-7/2",
    "30-10 * * * *",
    "0 22-2 * * *",
    "0 22-23,0-2 * * *",
    "0 9 * * FRI-SUN",
    "0 0 L * *",
    "0 0 L-3 * *",
    "0 0 15W * *",
    "0 0 LW * *",
    "0 0 * * 5L",
    "0 0 * * L5",
    "0 0 * * 1#5",
    "0 0 * * 1#6",
    "0 0 ? * 1",
    "0 ? * * *",
    "H H * * *",
    "R * * * *",
    "@daily",
    "@reboot",
    "@every 5m",
    "0 9 * *",
    "0 0 9 * * 1",
    "0 0 9 * * 1 2026",
    "0 0 * * Monday",
    "0 0 * * mon",
    "1,,2 * * * *",
    "+5 * * * *",
)
ZONES = (
    "UTC",
    "GMT",
    "Asia/Calcutta",
    "Europe/Kiev",
    "US/Pacific",
    "EST",
    "Etc/GMT+5",
    "utc",
    "PST",
    "IST",
    "Z",
    "UTC+2",
    "GMT+5",
    "+05:30",
    "America",
    "localtime",
    "Factory",
    "posix/Europe/Berlin",
)
INSTANTS = (
    "2026-10-12T08:00:00+05:30",
    "2026-10-12T02:30:00.123456789Z",
    "2026-10-12t02:30:00z",
    "2026-10-12T02:30:00-00:00",
    "2026-10-12T02:30:00",
    "2026-10-12 02:30:00Z",
    "2026-10-12",
    "1772323200",
    "2026-06-30T23:59:60Z",
    "2026-03-01T24:00:00Z",
    "2026-02-29T00:00:00Z",
    "2026-03-01T00:00:00+24:00",
    "9999-12-31T23:59:59-12:00",
    "1969-12-31T23:59:59Z",
)
DURATIONS = ("PT15S", "PT1H30M", "P1D", "P2W", "PT0.5S", "PT90M", "P1M", "P1Y", "-PT5S", "pt5s", "PT", "90")


def written(rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown; the first row is the head."""
    head, *body = rows
    lines = [head, ["---"] * len(head), *body]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def at_a_gap(night: Night) -> str:
    """What each job does where the clock skips, by `dst_gap`."""
    rows = [[*_job(job), *(night.runs(job, gap=gap) for gap in GAPS)] for job in night.jobs]
    return written([["job", "kind", "`shift` (default)", "`skip`"], *rows])


def at_an_overlap(night: Night) -> str:
    """What each job does where the clock comes twice, by `dst_overlap`."""
    rows = [[*_job(job), *(night.runs(job, overlap=overlap) for overlap in OVERLAPS)] for job in night.jobs]
    return written([["job", "kind", "`first` (default)", "`last`", "`both`"], *rows])


def without_change(night: Night) -> str:
    """What each job does in a zone whose clock never changes, under every choice."""
    rows = [["job", "kind", "every `dst_gap` and `dst_overlap`"]]
    for job in night.jobs:
        (runs,) = {night.runs(job, gap, overlap) for gap in GAPS for overlap in OVERLAPS}
        rows.append([*_job(job), runs])
    return written(rows)


def lengths_of_days() -> str:
    """How often two jobs run in days of different lengths."""
    rows = [["day", "zone", "hours", *(f"runs of `{job}`" for job in EACH_DAY)]]
    for zone, first, end in DAYS:
        runs = [str(CronSchedule(job, zone).count(utc(first) - 1, utc(end) - 1)) for job in EACH_DAY]
        rows.append(
            [find_zone(zone).local_text(utc(first))[:10], zone, f"{(utc(end) - utc(first)) / 3_600_000:g}", *runs]
        )
    return written(rows)


def single_local_times() -> str:
    """What becomes of a single local time."""
    choices: list[tuple[Gap, Overlap]] = [("shift", "first"), ("skip", "first"), ("shift", "first"), ("shift", "last")]
    rows = [["`run_at`", "`timezone`", "gap `shift`", "gap `skip`", "overlap `first`", "overlap `last`"]]
    for text, zone in LOCAL_TIMES:
        answers = [answer_to(partial(single, zone=zone, gap=gap, overlap=overlap), text) for gap, overlap in choices]
        rows.append(
            [f"`{text}`", zone, *(answer.partition(":")[0] if "refused" in answer else answer for answer in answers)]
        )
    return written(rows)


def single(text: str, zone: str, gap: Gap, overlap: Overlap) -> str:
    """The instant of a local time."""
    return f"`{format_instant(OneOff.at_local_time(text, zone, gap, overlap).at_ms)}`"


def answers(head: str, texts: Iterable[str], read: Callable[[str], str]) -> str:
    """What is made of each text, or why it is refused."""
    return written([[head, "answer"], *([f"`{text}`", answer_to(read, text)] for text in texts)])


def answer_to(read: Callable[[str], str], text: str) -> str:
    """What is made of a text, or why it is refused."""
    try:
        return read(text)
    except ScheduleError as refusal:
        return f"refused: {refusal.detail}"


def words_of(expression: str) -> str:
    """What an expression means."""
    return cron_words(Cron.parse(expression))


def winter_offset(zone: str) -> str:
    """The offset of a zone in January."""
    return f"accepted; `{find_zone(zone).local_text(utc('2026-01-15T00:00'))[23:]}` in January 2026"


TABLES: dict[str, Callable[[], str]] = {
    "spring": partial(at_a_gap, SPRING),
    "autumn": partial(at_an_overlap, AUTUMN),
    "lord-howe-spring": partial(at_a_gap, LORD_HOWE_SPRING),
    "lord-howe-autumn": partial(at_an_overlap, LORD_HOWE_AUTUMN),
    "no-change": partial(without_change, KOLKATA),
    "skipped-day": partial(at_a_gap, SKIPPED_DAY),
    "lengths-of-days": lengths_of_days,
    "single-local-times": single_local_times,
    "outage": lambda: written(after_an_outage()),
    "expressions": partial(answers, "expression", EXPRESSIONS, words_of),
    "zones": partial(answers, "`timezone`", ZONES, winter_offset),
    "instants": partial(answers, "instant", INSTANTS, lambda text: f"`{format_instant(parse_instant(text))}`"),
    "durations": partial(answers, "duration", DURATIONS, lambda text: f"`{format_duration(parse_duration(text))}`"),
}


def with_tables(page: str) -> str:
    """A page with each of its tables made anew."""
    return _BLOCK.sub(lambda block: f"{block[1]}{TABLES[block['name']]()}{block[4]}", page)


def _job(job: str) -> tuple[str, str]:
    return f"`{job}`", "wildcard" if Cron.parse(job).follows_clock else "fixed"


if __name__ == "__main__":
    PAGE.write_text(with_tables(PAGE.read_text("utf-8")), "utf-8")
