"""`carillon invoke`: run a deployed function with an event from a file, for debugging."""

import json
from base64 import b64decode
from collections.abc import Iterable
from typing import Any, BinaryIO

import click

from carillon_cli.aws import Place, as_one_line, output, outputs_of, uses_stack
from carillon_cli.config import json_option
from carillon_cli.definition import checked_json
from carillon_cli.output import REFUSED, print_json, without_keys

OUTPUT_KEYS = {
    "api": "ApiFunction",
    "ticker": "TickerFunction",
    "dispatcher": "DispatcherFunction",
    "worker": "WorkerFunction",
    "long_worker": "LongWorkerFunction",
    "dead_letters": "DeadLettersFunction",
    "retention": "RetentionFunction",
    "operations": "OperationsFunction",
    "deployments": "DeploymentsFunction",
}
LONGEST_RUN_SECONDS = 930


@click.command()
@click.argument("function", type=click.Choice(list(OUTPUT_KEYS)), metavar="FUNCTION")
@click.argument("event", type=click.File("rb"), metavar="EVENT")
@click.option(
    "--set", "values", multiple=True, metavar="NAME=VALUE", help="Put VALUE where EVENT says ${NAME}; repeatable."
)
@uses_stack
@json_option
def invoke(place: Place, function: str, event: BinaryIO, values: tuple[str, ...], *, as_json: bool) -> None:
    """Run FUNCTION with the event in the file EVENT (- is stdin) and show its answer and the end of its log.

    FUNCTION is one of api, ticker, dispatcher, worker, long_worker, dead_letters, retention, operations,
    deployments.

    \b
    carillon invoke ticker events/ticker_minute.json --ready-file ready.json
    carillon invoke api events/api_list.json --set API_KEY="$CARILLON_API_KEY"
    """  # noqa: D301 - click reads \b as "keep these lines"
    payload = _filled(event.read(), values)
    _check_event(payload)
    answer = _answer_of(place, output(outputs_of(place), OUTPUT_KEYS[function]), payload)
    if as_json:
        print_json(answer)
    else:
        click.echo(without_keys(answer["log"].rstrip("\n")), err=True)
        click.echo(json.dumps(answer["answer"], indent=2))
    if answer["function_error"]:
        click.echo(f"carillon: the function failed: {answer['function_error']}", err=True)
        click.get_current_context().exit(REFUSED)


def _filled(payload: bytes, values: Iterable[str]) -> bytes:
    """The event with each `${NAME}` of the given names replaced, inside its JSON strings."""
    for given in values:
        name, equals, value = given.partition("=")
        if not (name and equals):
            raise click.UsageError("--set wants NAME=VALUE")
        payload = payload.replace(f"${{{name}}}".encode(), json.dumps(value)[1:-1].encode())
    return payload


def _check_event(payload: bytes) -> None:
    try:
        checked_json(payload.decode(), "EVENT")
    except UnicodeDecodeError:
        raise click.UsageError("EVENT is not UTF-8") from None


def _answer_of(place: Place, name: str, payload: bytes) -> dict[str, Any]:
    """What the function answered, the last 4 KB of its log, and the kind of its failure, if it failed."""
    with as_one_line():
        client = place.client("lambda", read_timeout=LONGEST_RUN_SECONDS, retries={"total_max_attempts": 1})
        answer = client.invoke(FunctionName=name, Payload=payload, LogType="Tail")
        body = answer["Payload"].read()
    return {
        "answer": _value(body),
        "log": b64decode(answer.get("LogResult", "")).decode(errors="replace"),
        "function_error": answer.get("FunctionError"),
    }


def _value(body: bytes) -> Any:
    try:
        return json.loads(body) if body else None
    except ValueError:
        return body.decode(errors="replace")
