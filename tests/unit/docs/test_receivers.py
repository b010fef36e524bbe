"""The receivers of docs/receivers.md tell right from wrong: the code as it stands on the page, by its test vectors.

Each language is run if it is installed. A program around the code reads a line a case and answers `yes` or `no`.
"""

import hmac
import re
import shutil
import subprocess
import sys
from base64 import b64decode, b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from carillon.domain.signing import sign
from tests.unit.docs.pages import ROOT, page

PAGE = page("docs/receivers.md")
BOUND_SECONDS = 240
K1, K2 = re.findall(r"`K[12]`\s+is\s+`(whsec_[^`]+)`", PAGE.prose)
(MESSAGE,) = re.findall(r"The id is `([^`]+)`", PAGE.prose)
(AT,) = map(int, re.findall(r"timestamp `(\d+)`", PAGE.prose))


@dataclass(frozen=True)
class Vector:
    """A callback as a receiver sees it, and whether it is right."""

    name: str
    secret: str
    body: bytes
    signature: str
    now_seconds: int
    is_right: bool

    @property
    def line(self) -> str:
        """What the programs read."""
        body = b64encode(self.body).decode()
        return "\t".join((self.secret, MESSAGE, str(AT), self.signature, body, str(self.now_seconds)))


def vectors() -> list[Vector]:
    """The vectors of the page."""
    (table,) = PAGE.tables("Test vectors")
    return [
        Vector(
            name,
            {"K1": K1, "K2": K2}[secret],
            b64decode(body.strip("`")),
            signature.strip("`"),
            int(now),
            right == "yes",
        )
        for name, secret, body, signature, now, right in table
    ]


VECTORS = vectors()


def code(language: str, marker: str = "") -> str:
    """The one block in a language, or the one of several that holds a text."""
    (block,) = [block for block in PAGE.blocks_in(language) if marker in block.text]
    return block.text


# ------------------------------------------------------------------------------------------- programs around the code

NODE = """
import { readFileSync } from "node:fs";
import * as receiver from "./receiver.mjs";
for (const line of readFileSync(0, "utf-8").split("\\n").filter(Boolean)) {
  const [secret, id, timestamp, signature, body, now] = line.split("\\t");
  const headers = { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": signature };
  Date.now = () => Number(now) * 1000;
  let right = true;
  try {
    if (receiver.isRight) right = receiver.isRight(secret, headers, Buffer.from(body, "base64"));
    else receiver.verifyCallback(secret, headers, Buffer.from(body, "base64"));
  } catch { right = false; }
  console.log(right ? "yes" : "no");
}
"""

GO = """
package main

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

func main() {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		part := strings.Split(lines.Text(), "\\t")
		header := http.Header{}
		header.Set("webhook-id", part[1])
		header.Set("webhook-timestamp", part[2])
		header.Set("webhook-signature", part[3])
		body, _ := base64.StdEncoding.DecodeString(part[4])
		now, _ := strconv.ParseInt(part[5], 10, 64)
		fmt.Println(map[bool]string{true: "yes", false: "no"}[IsRight(part[0], header, body, time.Unix(now, 0))])
	}
}
"""

JAVA = """
import java.util.*;

final class Driver {
    public static void main(String[] unused) {
        Scanner lines = new Scanner(System.in, java.nio.charset.StandardCharsets.UTF_8);
        while (lines.hasNextLine()) {
            String[] part = lines.nextLine().split("\\t", -1);
            Map<String, String> headers = Map.of(
                "webhook-id", part[1], "webhook-timestamp", part[2], "webhook-signature", part[3]);
            byte[] body = Base64.getDecoder().decode(part[4]);
            boolean right;
            try {
                right = Receiver.isRight(part[0], headers, body, Long.parseLong(part[5]));
            } catch (Exception refused) {
                right = false;
            }
            System.out.println(right ? "yes" : "no");
        }
    }
}
"""

RUBY = """
require_relative "receiver"
$stdin.each_line(chomp: true) do |line|
  secret, id, timestamp, signature, body, now = line.split("\\t", -1)
  headers = { "webhook-id" => id, "webhook-timestamp" => timestamp, "webhook-signature" => signature }
  right = begin
    right?(secret, headers, body.unpack1("m0"), now.to_i)
  rescue ArgumentError
    false
  end
  puts right ? "yes" : "no"
end
"""

PYTHON = """
import sys
from base64 import b64decode
from receiver import is_right
for line in sys.stdin.read().splitlines():
    secret, message, timestamp, signature, body, now = line.split("\\t")
    headers = {"webhook-id": message, "webhook-timestamp": timestamp, "webhook-signature": signature}
    print("yes" if is_right(secret, headers, b64decode(body), int(now)) else "no")
"""


def _python(folder: Path) -> Sequence[str]:
    (folder / "receiver.py").write_text(code("python"))
    (folder / "driver.py").write_text(PYTHON)
    return (sys.executable, str(folder / "driver.py"))


def _node(folder: Path, marker: str) -> Sequence[str]:
    (folder / "node_modules").symlink_to(ROOT / "node_modules")
    (folder / "receiver.mjs").write_text(code("js", marker))
    (folder / "driver.mjs").write_text(NODE)
    return ("node", str(folder / "driver.mjs"))


def _go(folder: Path) -> Sequence[str]:
    (folder / "receiver.go").write_text(code("go").replace("package receiver", "package main"))
    (folder / "driver.go").write_text(GO)
    return ("go", "run", str(folder / "receiver.go"), str(folder / "driver.go"))


def _java(folder: Path) -> Sequence[str]:
    (folder / "Receiver.java").write_text(code("java"))
    (folder / "Driver.java").write_text(JAVA)
    _run(("javac", "-d", str(folder), str(folder / "Receiver.java"), str(folder / "Driver.java")), "")
    return ("java", "-cp", str(folder), "Driver")


def _ruby(folder: Path) -> Sequence[str]:
    (folder / "receiver.rb").write_text(code("ruby"))
    (folder / "driver.rb").write_text(RUBY)
    return ("ruby", str(folder / "driver.rb"))


def _run(command: Sequence[str], given: str) -> str:
    done = subprocess.run(
        command, input=given, capture_output=True, text=True, timeout=BOUND_SECONDS, check=False, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


PROGRAMS: dict[str, tuple[str, Callable[[Path], Sequence[str]]]] = {
    "python": ("python", _python),
    "node-library": ("node", lambda folder: _node(folder, "standardwebhooks")),
    "node-alone": ("node", lambda folder: _node(folder, "node:crypto")),
    "go": ("go", _go),
    "java": ("javac", _java),
    "ruby": ("ruby", _ruby),
}
ALWAYS = ("python", "node")


@pytest.mark.timeout(2 * BOUND_SECONDS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_code_on_the_page_tells_right_from_wrong(name: str, tmp_path: Path) -> None:
    """B230, B232: good, by either secret, wrong secret, stale, changed body; an empty secret is never right."""
    tool, prepare = PROGRAMS[name]
    if tool not in ALWAYS and shutil.which(tool) is None:
        pytest.skip(f"{tool} is not installed on this machine")
    cases = [*VECTORS, signed_by_nothing()]
    answers = _run(prepare(tmp_path), "".join(f"{case.line}\n" for case in cases)).split()
    wanted = {case.name: "yes" if case.is_right else "no" for case in cases}
    if name == "node-library":
        wanted["a body that is no text"] = "no"  # as the page says of it
    assert dict(zip((case.name for case in cases), answers, strict=True)) == wanted


def signed_by_nothing() -> Vector:
    """What somebody can sign who bets on a receiver whose secret is not set."""
    mac = hmac.digest(b"", f"{MESSAGE}.{AT}.{{}}".encode(), "sha256")
    return Vector("no secret", "", b"{}", f"v1,{b64encode(mac).decode()}", AT, is_right=False)


@pytest.mark.parametrize("vector", [each for each in VECTORS if each.is_right], ids=lambda each: each.name)
def test_the_vectors_are_what_carillon_signs(vector: Vector) -> None:
    """Each signature of a right vector is ours for its body, by one of the two secrets; and so are two in a header."""
    tokens = [token for token in vector.signature.split(" ") if token.startswith("v1,")]
    by_both = sign([K1, K2], MESSAGE, AT, vector.body).split(" ")
    assert set(tokens) <= set(by_both)
    assert sign([vector.secret], MESSAGE, AT, vector.body) in tokens


def test_the_vectors_have_each_kind() -> None:
    """There are right and wrong ones, and two signatures in one header."""
    assert {each.is_right for each in VECTORS} == {True, False}
    assert any(" v1," in each.signature for each in VECTORS)
