"""A language server that judges again only what an edit has changed says what one says that sees the texts anew."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nodelint.ec2.fake_account import FakeAccount
from nodelint.ec2.snapshot import snapshot_text
from nodelint.lint import incremental
from nodelint.lint.engine import LintRequest, Selection, Target, lint
from nodelint.lint.examples import examples
from nodelint.lint.rule import load_bundled
from nodelint.lsp.diagnostics import diagnostics
from nodelint.lsp.project import Buffer, Project, State
from nodelint.model.documents import objects
from nodelint.model.finding import Edit
from nodelint.model.manifest import EC2NodeClass
from nodelint.model.releases import NEWEST
from nodelint.source import Source
from nodelint.source.incremental import move

from .test_lsp import CLASS, POOL
from .test_places import ACCOUNT

NOW = datetime(2026, 11, 20, tzinfo=UTC)
EXAMPLES = [
    example.text
    for rule in load_bundled().values()
    for example in examples(rule.page)
    if not example.good and example.facts is None and "---" not in example.text.splitlines()[:1]
]
PIECES = (
    *(
        "x",
        " ",
        "\n",
        "\n---\n",
        "---\n",
        "...\n",
        "%YAML 1.1\n",
        "\t",
        ": ",
        "- ",
        "#",
        "'",
        '"',
        "[",
        "}",
        "&a ",
        "*a",
        "é",
    ),
    *("  # nodelint: ignore[unknown-value]\n", "{{ .Values.x }}", "karpenter", "\r\n", "|\n", "general", "main", "5"),
)

Change = tuple[int, int, int, int]
"""What is done, where, how far, and with which piece; all are taken as far as they go."""


def changed(text: str, change: Change) -> str:
    way, at, width, piece = change
    parts = text.split("---\n")
    here = at % (len(text) + 1)
    if way == 0:
        return text[:here] + PIECES[piece % len(PIECES)] + text[here:]
    if way == 1:
        return text[:here] + text[here + width :]
    if way == 2:  # a document more
        parts.insert(at % (len(parts) + 1), EXAMPLES[piece % len(EXAMPLES)])
    elif way == 3:  # a document less
        del parts[at % len(parts)]
    elif way == 4:  # two change their places
        a, b = at % len(parts), width % len(parts)
        parts[a], parts[b] = parts[b], parts[a]
    else:  # a line twice
        lines = text.splitlines(keepends=True) or [""]
        n = at % len(lines)
        return "".join([*lines[:n], lines[n], *lines[n:]])
    return "---\n".join(parts)


changes: st.SearchStrategy[Change] = st.tuples(
    st.integers(0, 5), st.integers(0, 5000), st.integers(1, 40), st.integers(0, 500)
)


def visible_state(project: Project, state: State) -> dict[str, Any]:
    """Everything that an editor would see, and every edit that it could ask for."""
    found: dict[str, Any] = {}
    for view in project.views(state):
        for buffer in view.buffers:
            edits = [
                (
                    result.rule.name,
                    result.span[1:],
                    edit_places(result.finding.edits),
                    [(suggestion.name, edit_places(suggestion.edits)) for suggestion in result.finding.suggestions],
                )
                for result in view.results(buffer)
            ]
            found[buffer.uri] = diagnostics(view, buffer), edits
        skips = [(s.rule, s.path, s.object and s.object.label, s.reason) for s in view.report.skipped]
        found[view.home] = sorted(skips, key=repr)  # which was judged first, an editor shows nowhere
    return found


def edit_places(edits: Sequence[Edit]) -> list[tuple[str, int, int, str]]:
    return [(edit.source.path, edit.start, edit.end, edit.text) for edit in edits]


@pytest.fixture(scope="module")
def account(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder whose configuration names facts about an account."""
    home = tmp_path_factory.mktemp("account")
    imagined = FakeAccount(ACCOUNT)
    classes = [obj for obj in objects(Source.from_text("a.yaml", CLASS)) if isinstance(obj, EC2NodeClass)]
    known = imagined.facts(classes, NEWEST).snapshot
    assert known is not None
    (home / "facts.json").write_text(snapshot_text(known), encoding="utf-8")
    (home / "nodelint.yaml").write_text("snapshot: facts.json\n", encoding="utf-8")
    return home


def test_facts_stay_the_same_for_a_while(account: Path) -> None:
    clock = [NOW]
    project = Project(lambda: clock[0])

    def facts(number: int, later: timedelta) -> object:
        clock[0] = NOW + later
        (view,) = project.views(state_of(account, {"pools.yaml": POOL}, number))
        assert view.target.facts
        return view.target.facts

    first = facts(1, timedelta())
    assert facts(2, timedelta(seconds=50)) is first
    assert facts(3, timedelta(seconds=70)) is not first


@settings(max_examples=max(60, settings().max_examples))
@given(
    st.booleans(),
    st.lists(st.sampled_from([POOL, CLASS, *EXAMPLES]), min_size=1, max_size=4),
    st.lists(st.tuples(st.booleans(), changes), min_size=1, max_size=6),
)
def test_diagnostics_after_edits_are_those_of_a_fresh_run(
    account: Path, with_facts: bool, documents: list[str], edits: list[tuple[bool, Change]]
) -> None:
    home = account if with_facts else account.parent / "texts"
    texts = {"pools.yaml": "---\n".join(documents), "classes.yaml": CLASS}
    remaining = Project(lambda: NOW)
    state = state_of(home, texts, 1)
    assert visible_state(remaining, state) == visible_state(Project(lambda: NOW), state_of(home, texts, 1))
    for number, (other, change) in enumerate(edits, 2):
        name = "classes.yaml" if other else "pools.yaml"
        texts[name] = changed(texts[name], change)
        untouched = {uri: buffer for uri, buffer in state.buffers.items() if not uri.endswith(name)}
        new = state_of(home, texts, number)
        state = new._replace(buffers={**new.buffers, **untouched})
        assert visible_state(remaining, state) == visible_state(Project(lambda: NOW), new), texts


@pytest.mark.parametrize("typed", ["{{", "{%", "%{", "<%", "NodeOverlay", "kro.run/", "#"])
def test_a_word_that_comes_to_a_text_counts_in_its_other_documents(tmp_path: Path, typed: str) -> None:
    first = CLASS.replace("karpenter.sh/discovery: main", "karpenter.sh/discovery: <<CLUSTER_NAME>>")
    pool = "kind: NodePool\napiVersion: karpenter.sh/v1\nmetadata: {name: a, annotations: {a: 'x'}}\nspec: {}\n"
    texts = [first + "---\n" + pool, first + "---\n" + pool.replace("'x'", f"'{typed}'"), first + "---\n" + pool]
    remaining, state, seen = Project(lambda: NOW), None, []
    for number, text in enumerate(texts, 1):
        state = state_of(tmp_path, {"pools.yaml": text}, number)
        seen.append(visible_state(remaining, state))
        assert seen[-1] == visible_state(Project(lambda: NOW), state_of(tmp_path, {"pools.yaml": text}, number))
    assert seen[0] == seen[2]


def state_of(home: Path, texts: dict[str, str], number: int) -> State:
    buffers = [Buffer((home / name).as_uri(), number, text, "utf-16") for name, text in texts.items()]
    return State({buffer.uri: buffer for buffer in buffers}, (str(home),), number)


def test_what_is_known_of_an_object_follows_its_text() -> None:
    """Whatever is worked out once for an object stays true where an edit above moves it."""
    rules, target = load_bundled(), Target(NEWEST)
    selection = Selection(frozenset(rules))

    def results(source: Source) -> list[tuple[str, tuple[int, int], list[tuple[str, int, int, str]]]]:
        report = lint([source], LintRequest(target, rules, selection))
        return [(result.rule.name, result.span[1:], edit_places(result.finding.edits)) for result in report.results]

    for example in EXAMPLES:
        source = Source.from_text("pools.yaml", POOL + "---\n" + example)
        if source.problems:
            continue
        results(source)
        text = "# a comment more\n" + source.text
        if move(source, text) is not None:
            assert results(source) == results(Source.from_text("pools.yaml", text)), example


@settings(max_examples=max(100, settings().max_examples))
@given(st.lists(st.sampled_from([POOL, CLASS, *EXAMPLES]), min_size=1, max_size=4), st.lists(changes, max_size=4))
def test_a_source_that_moves_is_the_source_of_its_new_text(documents: list[str], edits: list[Change]) -> None:
    text = "---\n".join(documents)
    source = Source.from_text("pools.yaml", text)
    for change in edits:
        text = changed(text, change)
        if move(source, text) is None:
            source = Source.from_text("pools.yaml", text)
        fresh = Source.from_text("pools.yaml", text)
        assert (source.text, source.newline) == (text, fresh.newline)
        assert shape(source) == shape(fresh)
        assert [(p.offset, p.message) for p in source.problems] == [(p.offset, p.message) for p in fresh.problems]


def shape(source: Source) -> list[Any]:
    """Each document with its nodes, those too that stand in the place of others."""
    return [
        (
            d.start,
            d.end,
            d.index,
            [(n.kind, n.start, n.end, n.raw, n.value, n.source is source) for n in d.root.walk()],
        )
        if d.root is not None
        else (d.start, d.end, d.index, None)
        for d in source.documents
    ]


def test_what_is_noted_is_asked_again_by_the_name_of_its_method() -> None:
    """Another name is found only when something is asked again: long after the first run."""
    text = Path(incremental.__file__).read_text(encoding="utf-8")
    noted = re.findall(
        r'def (\w+)\(self[^)]*\)[^:]*:\n(?:        [^\n]*\n)*?        return self\._note\(\s*"(\w+)"', text
    )
    assert len(noted) == text.count("return self._note(")
    assert [method for method, name in noted if method != name] == []
