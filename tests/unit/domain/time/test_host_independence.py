"""The host has no say: its zone, its language and its zone files change no time and no word."""

import os
import subprocess
import sys
from pathlib import Path
from shutil import which

import pytest

from tests.unit.domain.time.host_probe import digest

HOSTS = {
    "no-zone": {"TZ": ""},
    "samoa": {"TZ": "Pacific/Apia", "LC_ALL": "C.UTF-8"},
    "new-york-by-rule": {"TZ": "EST5EDT,M3.2.0,M11.1.0", "LC_ALL": "POSIX"},
    "turkish": {"TZ": "Europe/Istanbul", "LC_ALL": "tr_TR.UTF-8", "LANG": "tr_TR.UTF-8"},
    "no-zone-files": {"TZ": "Asia/Kathmandu", "PYTHONTZPATH": ""},
    "zone-files-elsewhere": {"TZ": "Australia/Lord_Howe", "PYTHONTZPATH": "/nowhere"},
    "nonsense": {"TZ": "Not/A_Zone", "LC_ALL": "xx_YY", "PYTHONTZPATH": "/nowhere:/usr/share/zoneinfo"},
    "another-hash-seed": {"TZ": "UTC", "PYTHONHASHSEED": "1"},
    "ascii-only": {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
}

# The language is set before anything of ours is imported: what is made of it at import counts too.
IN_ITS_LANGUAGE = """
import contextlib, locale, runpy
with contextlib.suppress(locale.Error):  # a host without that language
    locale.setlocale(locale.LC_ALL, "")
runpy.run_module("tests.unit.domain.time.host_probe", run_name="__main__")
"""


@pytest.mark.parametrize("settings", [pytest.param(settings, id=name) for name, settings in HOSTS.items()])
def test_the_host_changes_no_time_and_no_word(settings: dict[str, str]) -> None:
    """Hundreds of random schedules have there the times, stored texts and words that they have here."""
    there, _monday = probed(settings)
    assert there == digest()


def test_another_language_changes_no_time_and_no_word(tmp_path: Path) -> None:
    """The same where days and months, and the capital of i, are Turkish: a language made here, and seen in force."""
    turkish = tmp_path / "tr_TR.UTF-8"
    if which("localedef"):
        subprocess.run(["localedef", "-i", "tr_TR", "-f", "UTF-8", str(turkish)], capture_output=True, check=False)
    if not turkish.exists():
        pytest.skip("this host has no means to make a locale")
    there, monday = probed({"LOCPATH": str(tmp_path), "LC_ALL": "tr_TR.UTF-8", "TZ": "Europe/Istanbul"})
    assert (there, monday) == (digest(), "Pazartesi")


def probed(settings: dict[str, str]) -> tuple[str, str]:
    """The digest in a process with these settings, and what it calls a Monday."""
    there = subprocess.run(
        [sys.executable, "-c", IN_ITS_LANGUAGE],
        env={**os.environ, **settings},
        capture_output=True,
        check=True,
        timeout=60,
        text=True,
    )
    found, _, monday = there.stdout.strip().partition(" ")
    return found, monday
