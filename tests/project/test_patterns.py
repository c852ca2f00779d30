"""No regular expression of the code takes long on any text: CPU grows with the text's length."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.conftest import ROOT
from tests.patterns import MOST, USES, sources, texts

FILES = [str(path.relative_to(ROOT)) for path in sources() if "re." in path.read_text(encoding="utf-8")]


@pytest.mark.slow
def test_every_pattern_takes_time_in_proportion() -> None:
    """Each over texts of its own parts, at n and 2n characters, in a process whose CPU is limited."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.patterns", *FILES], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    slow = [json.loads(line) for line in done.stdout.splitlines()]
    assert not slow, "\n".join(f"{at}:{line} {use} {shown!r}: {by} times" for at, line, use, shown, by, *_ in slow)


SLOW = (
    ("fullmatch", r"a(?:[^b]| )*(?<! )"),
    ("search", r"\w+="),
    ("search", r"\{\{.*?\}\}"),
)


@pytest.mark.slow
def test_the_law_sees_patterns_that_take_long() -> None:
    program = (
        "import signal; from tests import patterns as p; signal.signal(signal.SIGVTALRM, p._stop)\n"
        f"for how, pattern in {SLOW}:\n"
        "    use = p.Use('', 0, how, pattern, 0)\n"
        "    grown = (p.growth(p.applied(use), *t) for t in p.texts(use.pattern, 0))\n"
        f"    print(next((g[0] for g in grown if g and g[0] > {MOST}), 0))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert [number for number in map(float, done.stdout.split()) if number <= MOST] == [], done.stderr
    assert len(done.stdout.split()) == len(SLOW), done.stderr


def test_the_texts_hold_every_part() -> None:
    assert "search" in USES
    pumps = {pump for _, pump, _ in texts(r"x(?:ab|[0-9]+)*y", 0)}
    assert {"ab", "0"} <= pumps
