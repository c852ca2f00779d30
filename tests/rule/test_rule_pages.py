"""Each rule's page answers, in this order: what it finds, what happens, examples, sources, silencing, since when."""

from __future__ import annotations

import re

from nodelint import __version__
from nodelint.model.releases import Version
from nodelint.rule.definition import bundled, load
from nodelint.rule.suppressions import Suppression
from tests.conftest import ROOT
from tests.tables import try_each

RULES = load(bundled())
_FENCE = re.compile(r"^```(?P<words>[^\n]*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)


def _page(name: str) -> str:
    return (ROOT / "docs" / "rules" / f"{name}.md").read_text(encoding="utf-8")


def test_a_page_says_what_happens_before_it_shows_an_example() -> None:
    def check(name: str) -> None:
        title, sentence, header, *prose = re.split(r"\n{2,}", _page(name).partition("```")[0].strip())
        assert title == f"# {name}" and sentence.endswith(".") and header.startswith(f"{RULES[name].group} · ")
        assert len(" ".join(prose).split()) >= 15, "what happens at run time, in a sentence or two"

    try_each(RULES, check)


def test_a_page_shows_bad_examples_with_what_is_said_of_them_and_good_ones_with_what_differs() -> None:
    def check(name: str) -> None:
        fences = [match["words"] for match in _FENCE.finditer(_page(name))]
        bad = [place for place, words in enumerate(fences) if re.match(r"\w+ bad\b", words)]
        assert bad
        for place in bad:
            assert fences[place + 1] == "text", "the message of the tool"
        assert any(words.startswith("diff good") for words in fences) or any(" good" in words for words in fences)
        assert RULES[name].fix is None or any(words.startswith("diff good") for words in fences)

    try_each(RULES, check)


def test_a_page_ends_with_sources_silencing_and_the_version_that_brought_the_rule() -> None:
    def check(name: str) -> None:
        page = _page(name)
        silence = page.index("\n## Silence it\n")
        # A rule about comments of nodelint's own claims nothing of Karpenter.
        if RULES[name].on is not Suppression:
            assert "https://" in page[page.index("\n## Sources\n") : silence]
        assert f"`ignore: [{name}]`" in page[silence:] and f"[{name}]}}`" in page[silence:]
        assert (f"`# nodelint: ignore[{name}] <reason>`" in page[silence:]) is (RULES[name].on is not Suppression)
        since = re.search(
            r"^Since nodelint (\S+)(?:\. Stable since nodelint (\S+)\.|, as a preview: )", page[silence:], re.M
        )
        assert since is not None and (since[1], since[2]) == (RULES[name].since, RULES[name].stable_version)
        assert Version.parse(since[1]) <= Version.parse(__version__)

    try_each(RULES, check)
