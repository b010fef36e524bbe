"""Where the service is and with which key."""

import json
from pathlib import Path

import click
import pytest

from carillon_cli.config import resolve

PROFILES = """
[default]
url = "https://default.example.com"
api_key = "crl_live_default"

[staging]
url = "https://staging.example.com"
api_key = "crl_live_staging"
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A place with two profiles and a ready file."""
    (tmp_path / "carillon").mkdir()
    (tmp_path / "carillon" / "config.toml").write_text(PROFILES)
    ready = {"url": "http://localhost:1", "api_key": "crl_test_ready", "signing_secret": "whsec_x"}
    (tmp_path / "ready.json").write_text(json.dumps(ready))
    return tmp_path


@pytest.mark.parametrize(
    ("flags", "environ", "url", "key"),
    [
        pytest.param({}, {}, "https://default.example.com", "crl_live_default", id="default profile"),
        pytest.param(
            {},
            {"CARILLON_PROFILE": "staging"},
            "https://staging.example.com",
            "crl_live_staging",
            id="named by variable",
        ),
        pytest.param(
            {},
            {"CARILLON_URL": "http://e", "CARILLON_API_KEY": " k\n", "CARILLON_PROFILE": "staging"},
            "http://e",
            "k",
            id="variables before profiles",
        ),
        pytest.param({}, {"CARILLON_URL": "http://e"}, "http://e", "crl_live_default", id="each by itself"),
        pytest.param({}, {"CARILLON_URL": ""}, "https://default.example.com", "crl_live_default", id="empty is none"),
        pytest.param(
            {"profile": "staging"},
            {"CARILLON_URL": "http://e", "CARILLON_API_KEY": "k"},
            "https://staging.example.com",
            "crl_live_staging",
            id="a profile named by flag before variables",
        ),
        pytest.param(
            {"ready_file": "ready.json"},
            {"CARILLON_URL": "http://e"},
            "http://localhost:1",
            "crl_test_ready",
            id="ready file before variables",
        ),
        pytest.param(
            {"url": "http://f", "api_key": "f", "ready_file": "ready.json", "profile": "staging"},
            {"CARILLON_URL": "http://e"},
            "http://f",
            "f",
            id="flags before all",
        ),
    ],
)
def test_the_first_source_that_has_a_value_wins(
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    flags: dict[str, str | None],
    environ: dict[str, str],
    url: str,
    key: str,
) -> None:
    """Flags, ready file, profile by flag, variables, profile by variable, default profile: in this order."""
    monkeypatch.chdir(home)
    found = resolve(flags, {"XDG_CONFIG_HOME": str(home), **environ})
    assert (found.url, found.api_key) == (url, key)
    assert key not in repr(found) or len(key) == 1


@pytest.mark.parametrize(
    ("flags", "environ", "profiles", "says"),
    [
        pytest.param({}, {}, "", "no service is named", id="nothing"),
        pytest.param({"url": "http://a"}, {}, "", "no key is given", id="no key"),
        pytest.param({"profile": "x"}, {}, PROFILES, r"no profile \[x\]", id="no such profile"),
        pytest.param({}, {"CARILLON_PROFILE": "x"}, PROFILES, r"no profile \[x\]", id="none of the variable's name"),
        pytest.param({}, {}, 'api_key = "crl_live_secret', "is not TOML", id="damaged profiles"),
        pytest.param({}, {}, 'default = "x"', "no service is named", id="a profile that is none"),
        pytest.param({"ready_file": "/nowhere"}, {}, "", "cannot read the ready file", id="no ready file"),
        pytest.param({"ready_file": "/dev/null"}, {}, "", "is not JSON", id="empty ready file"),
        pytest.param({"url": "a", "api_key": "crl_live_secret"}, {}, "", "URL must be", id="bad address"),
        pytest.param({"url": "http://a", "api_key": "crl_live_secret x"}, {}, "", "the API key", id="bad key"),
    ],
)
def test_what_is_missing_or_wrong_is_named(
    tmp_path: Path, flags: dict[str, str | None], environ: dict[str, str], profiles: str, says: str
) -> None:
    """The usage error says what to give; it holds no key."""
    (tmp_path / "carillon").mkdir()
    (tmp_path / "carillon" / "config.toml").write_text(profiles)
    with pytest.raises(click.UsageError, match=says) as refused:
        resolve(flags, {"XDG_CONFIG_HOME": str(tmp_path), **environ})
    assert "secret" not in refused.value.format_message()
