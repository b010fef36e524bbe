"""From the flags of a command to the definition of a job, in the words of the interface."""

import json
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import reduce
from pathlib import Path
from typing import Any, NoReturn

import click

from carillon_cli.shorthand import DurationType

Decorated = Callable[..., Any]
Option = Callable[[Decorated], Decorated]

_DURATION = DurationType()
_OF_CALLS = ("url", "method", "timeout", "cancel_url")
_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD")

SCHEDULE_KINDS = ("run_at", "delay", "every", "cron")
SCHEDULE_BOUNDS = ("timezone", "dst_gap", "dst_overlap", "start_at", "end_at", "max_runs")

SCHEDULE_OPTIONS: tuple[Option, ...] = (
    click.option("--run-at", metavar="INSTANT", help="Once, at this time (RFC 3339; local time with --timezone)."),
    click.option("--delay", type=_DURATION, help="Once, so long from now, such as 10s."),
    click.option("--every", type=_DURATION, help="Again and again, so far apart, such as 30m."),
    click.option("--cron", metavar="EXPRESSION", help='By the clock, such as "0 9 * * 1-5".'),
    click.option("--timezone", metavar="ZONE", help="The clock's zone (IANA name) for --cron and --run-at."),
    click.option("--dst-gap", type=click.Choice(["shift", "skip"]), help="For times that the clock skips."),
    click.option("--dst-overlap", type=click.Choice(["first", "last", "both"]), help="For times that come twice."),
    click.option("--start-at", metavar="INSTANT", help="Not before this time."),
    click.option("--end-at", metavar="INSTANT", help="Not after this time."),
    click.option("--max-runs", type=int, help="Not more often than this."),
)

TARGET_OPTIONS: tuple[Option, ...] = (
    click.option("--url", help="What is called."),
    click.option("--queue", metavar="URL", help="The SQS queue to which a message is sent, instead of a call."),
    click.option("--method", type=click.Choice(_METHODS, case_sensitive=False), help="Method of the call.  [POST]"),
    click.option("--header", "headers", multiple=True, metavar="NAME:VALUE", help="A header of the call; repeatable."),
    click.option("--timeout", type=_DURATION, help="How long the call may take.  [15s]"),
    click.option("--async", "is_async", is_flag=True, default=None, help="The target answers 202 and completes later."),
    click.option("--completion-timeout", type=_DURATION, help="How long that may take; means --async.  [6h]"),
    click.option("--heartbeat-timeout", type=_DURATION, help="How far apart its signs of life may be; means --async."),
    click.option("--cancel-url", metavar="URL", help="Who is told when a run under way is cancelled."),
    click.option("--priority", type=click.Choice(["high", "normal", "low"]), help="Which queue it takes.  [normal]"),
    click.option("--label", "labels", multiple=True, metavar="KEY=VALUE", help="A label to find it by; repeatable."),
    click.option("--max-attempts", type=int, help="How often a run is tried."),
    click.option("--deadline", type=_DURATION, help="Skip what would start later than this after its time."),
    click.option(
        "--misfire", type=click.Choice(["fire_all", "fire_once", "skip"]), help="For occurrences that were missed."
    ),
    click.option("--misfire-grace", type=_DURATION, help="How late an occurrence may be before it counts as missed."),
    click.option("--max-catch-up", type=int, help="How many missed occurrences fire_all makes up for."),
    click.option("--window", type=_DURATION, help="Spread the runs of many such jobs over this time."),
    click.option("--on-failure", metavar="URL", help="What is told of runs that failed for good."),
    click.option("--on-failure-queue", metavar="URL", help="The SQS queue that is told of them, instead."),
)


def with_options(options: Iterable[Option]) -> Option:
    """One decorator for a group of options, which keep their order in the help."""
    return lambda function: reduce(lambda inner, option: option(inner), reversed(tuple(options)), function)


def schedule_of(flags: Mapping[str, Any]) -> dict[str, Any]:
    """The `schedule` of a job.

    Raises:
        click.UsageError: It is not exactly one schedule.
    """
    kinds = [kind for kind in SCHEDULE_KINDS if flags[kind] is not None]
    if len(kinds) != 1:
        raise click.UsageError("give exactly one of --run-at, --delay, --every and --cron")
    return _given(flags, *kinds, *SCHEDULE_BOUNDS)


def settings_of(flags: Mapping[str, Any]) -> dict[str, Any]:
    """All of a job but its name, schedule and payload: the target and how it is called.

    Raises:
        click.UsageError: There is not exactly one target, or a header or label is malformed or given twice.
    """
    target = target_of(flags)
    if not target.keys() & {"url", "queue_url"}:
        raise click.UsageError("give the --url to call or the --queue to send to")
    return {"target": {"type": "http"} | target} | rules_of(flags)


def target_of(flags: Mapping[str, Any]) -> dict[str, Any]:
    """The members of a target that are given. A queue says that the target is one.

    Raises:
        click.UsageError: A header is malformed or given twice, or something of a call goes with a queue.
    """
    if flags["queue"]:
        _check_queue_alone(flags)
        return {"type": "queue", "queue_url": flags["queue"]} | _completion(flags)
    target = ({"type": "http"} if flags["url"] is not None else {}) | _given(flags, *_OF_CALLS)
    target |= _completion(flags)
    if headers := _pairs(flags["headers"], ":", "--header NAME:VALUE", str.lower):
        target["headers"] = headers
    return target


def _completion(flags: Mapping[str, Any]) -> dict[str, Any]:
    """The `completion` of a target, if one of its flags is given."""
    times = {"timeout": flags["completion_timeout"], "heartbeat_timeout": flags["heartbeat_timeout"]}
    given = {name: value for name, value in times.items() if value is not None}
    return {"completion": {"mode": "async"} | given} if given or flags["is_async"] else {}


def _check_queue_alone(flags: Mapping[str, Any]) -> None:
    given = [name for name in (*_OF_CALLS, "headers") if flags[name]]
    if given:
        flag = given[0].removesuffix("s").replace("_", "-")
        raise click.UsageError(f"--{flag} is of a call and does not go with --queue")


def rules_of(flags: Mapping[str, Any]) -> dict[str, Any]:
    """The members of a job that say how it is run, as far as they are given.

    Raises:
        click.UsageError: A label is malformed or given twice, or failures are to be told twice.
    """
    definition = _given(flags, "priority", "deadline", "misfire_grace", "max_catch_up", "window")
    if labels := _pairs(flags["labels"], "=", "--label KEY=VALUE", str):
        definition["labels"] = labels
    if told := _told_of_failures(flags):
        definition["on_failure"] = told
    if flags["max_attempts"] is not None:
        definition["retry"] = {"max_attempts": flags["max_attempts"]}
    if flags["misfire"] is not None:
        definition["misfire_policy"] = flags["misfire"]
    return definition


def _told_of_failures(flags: Mapping[str, Any]) -> dict[str, str] | None:
    url, queue = flags["on_failure"], flags["on_failure_queue"]
    if url and queue:
        raise click.UsageError("give --on-failure or --on-failure-queue, not both")
    if url:
        return {"type": "http", "url": url}
    return {"type": "queue", "queue_url": queue} if queue else None


def encoded(definition: Mapping[str, Any], payload: str | None) -> bytes:
    """The body of a request. The payload goes into it as it was typed, so that its numbers keep their digits."""
    text = json.dumps(definition, ensure_ascii=False)
    if payload is not None:
        text = f'{text[:-1]}{", " if definition else ""}"payload": {payload}}}'
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise click.UsageError("the arguments are not UTF-8") from None


def payload_text(given: str | None, flag: str = "--payload") -> str | None:
    """The JSON text that a flag takes, a payload's if not said: as given, or from a file behind an `@` (`@-` is stdin).

    Raises:
        click.UsageError: It cannot be read or is not JSON.
    """
    if given is None:
        return None
    text = read_text(given[1:], flag) if given.startswith("@") else given
    checked_json(text, flag)
    return text


def definition_text(path: str, flags: Mapping[str, Any]) -> str:
    """The text of a whole definition or patch in a file, as it is, once it is known to be a JSON object.

    The service judges what is in it.

    Raises:
        click.UsageError: It cannot be read, is no JSON object, or other flags of a job are given as well.
    """
    if any(value not in (None, ()) for value in flags.values()):
        raise click.UsageError("--from-file holds it all; no other flag of a job goes with it")
    text = read_text(path, "--from-file")
    if not isinstance(checked_json(text, "--from-file"), dict):
        raise click.UsageError("--from-file: expected a JSON object")
    return text


def read_text(path: str, flag: str) -> str:
    """The text of a file, or of stdin for `-`.

    Raises:
        click.UsageError: It cannot be read.
    """
    try:
        data = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
        return data.decode("utf-8-sig")
    except OSError as error:
        raise click.UsageError(f"{flag}: cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise click.UsageError(f"{flag}: {path} is not UTF-8") from error


def checked_json(text: str, flag: str) -> Any:
    """The value in a JSON text.

    Raises:
        click.UsageError: It is not JSON; `NaN` and `Infinity` are not.
    """
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        raise click.UsageError(f"{flag} is not JSON: line {error.lineno}, column {error.colno}: {error.msg}") from None
    except (ValueError, RecursionError) as error:
        raise click.UsageError(f"{flag} is not JSON: {error}") from None


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")


def _given(flags: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: flags[name] for name in names if flags[name] is not None}


def _pairs(texts: Iterable[str], separator: str, form: str, same_by: Callable[[str], str]) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for text in texts:
        name, found, value = text.partition(separator)
        if not found or not name.strip():
            raise click.UsageError(f"expected {form}")
        if same_by(name.strip()) in map(same_by, pairs):
            raise click.UsageError(f"{form} is given twice for one name")
        pairs[name.strip()] = value.strip()
    return pairs
