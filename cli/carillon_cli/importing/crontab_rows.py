"""A crontab: lines of five fields (or an alias) and a command, comments, and settings.

As cron reads it, with three decisions:

- `CRON_TZ=` (or `TZ=` where no `CRON_TZ=` holds) is the zone of the lines below it, up to the next such setting; an
  empty value takes it back. Other settings say how a command is run, which is not the scheduler's business: skipped.
- The command is not run but becomes the payload: `{"command": …}`. As in cron, the first `%` that has no backslash
  before it ends the command, and what follows is its `"stdin"`, where each further `%` is a line break.
- `@reboot` names no time and is refused.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import sha256

from carillon_cli.importing.rows import ALIASES, BadLine, Line, Row, cron_text, text_lines

_SETTING = re.compile(r"""("[^"]*"|'[^']*'|[A-Za-z_][A-Za-z0-9_]*)[ \t]*=[ \t]*(.*)""", re.DOTALL)
_ENTRY = re.compile(r"(@[^ \t]+|(?:[^ \t]+[ \t]+){4}[^ \t]+)(?:[ \t]+(.*))?", re.DOTALL)
_USER_AND_COMMAND = re.compile(r"([^ \t]+)[ \t]+(.*)", re.DOTALL)
_COMMAND_PIECE = re.compile(r"\\%|\\.|\\$|%|[^\\%]+", re.DOTALL)
_DIGEST_DIGITS = 16


@dataclass(slots=True)
class _Table:
    """What has been read so far: the settings in force, and how often each entry has occurred."""

    prefix: str
    timezone: str
    zones: dict[str, str] = field(default_factory=dict)
    seen: Counter[str] = field(default_factory=Counter)

    @property
    def written_zone(self) -> str:
        """The zone that the file itself says, or an empty text."""
        return self.zones.get("CRON_TZ") or self.zones.get("TZ") or ""

    def set(self, name: str, value: str) -> None:
        """Take note of a setting."""
        if name in ("CRON_TZ", "TZ"):
            self.zones[name] = value.removeprefix(":")

    def name_of(self, *entry: str) -> str:
        """The name of an entry's job: from what it says, not from where it stands; equal entries are counted."""
        digest = sha256("\0".join((self.written_zone, *entry)).encode()).hexdigest()[:_DIGEST_DIGITS]
        self.seen[digest] += 1
        count = self.seen[digest]
        return f"{self.prefix}/{digest}" + (f"-{count}" if count > 1 else "")


def read_crontab(data: bytes, prefix: str, timezone: str, *, has_users: bool = False) -> Iterator[Line]:
    """The entries of a crontab, in order.

    Args:
        data: The file.
        prefix: Stands before the name of each job.
        timezone: Zone of the entries where the file says none.
        has_users: Whether a column with the user stands before the command, as in `/etc/crontab`.
    """
    table = _Table(prefix, timezone)
    for number, text in text_lines(data):
        line = _read_line(number, text, table, has_users=has_users)
        if line is not None:
            yield line


def _read_line(number: int, text: str | None, table: _Table, *, has_users: bool) -> Line | None:
    if text is None:
        return BadLine(number, "not UTF-8")
    text = text.strip(" \t")
    if not text or text.startswith("#"):
        return None
    if setting := _SETTING.fullmatch(text):
        table.set(_unquoted(setting[1]), _unquoted(setting[2]))
        return None
    try:
        return _row(number, text, table, has_users=has_users)
    except ValueError as error:
        return BadLine(number, str(error))


def _row(number: int, text: str, table: _Table, *, has_users: bool) -> Row:
    entry = _ENTRY.fullmatch(text)
    if entry is None:
        raise ValueError("expected five time fields and a command")
    expression, rest = cron_text(entry[1]), entry[2] or ""
    if expression.startswith("@"):
        raise ValueError(_why_no_time(expression))
    user, command = _split_user(rest) if has_users else ("", rest)
    if not command:
        raise ValueError("there is no command")
    payload = _payload(command) | ({"user": user} if user else {})
    schedule = {"cron": expression, "timezone": table.written_zone or table.timezone}
    return Row(number, table.name_of(expression, user, command), schedule, payload)


def _why_no_time(alias: str) -> str:
    if alias.lower() == "@reboot":
        return "@reboot names no time"
    return f"no such alias; there are {', '.join(ALIASES)}"


def _split_user(rest: str) -> tuple[str, str]:
    match = _USER_AND_COMMAND.fullmatch(rest)
    if match is None:
        raise ValueError("expected a user and a command behind the time fields")
    return match[1], match[2]


def _payload(command: str) -> dict[str, str]:
    """The command, and what it is to read from its standard input, if any."""
    parts = [""]
    for piece in _COMMAND_PIECE.findall(command):
        if piece == "%":
            parts.append("")
        else:
            parts[-1] += "%" if piece == r"\%" else piece
    if len(parts) == 1:
        return {"command": parts[0]}
    stdin = "\n".join(parts[1:])
    return {"command": parts[0], "stdin": stdin if stdin.endswith("\n") else f"{stdin}\n"}


def _unquoted(text: str) -> str:
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'":
        return text[1:-1]
    return text
