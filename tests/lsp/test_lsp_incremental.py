"""A language server that judges again only what an edit has changed says what one says that sees the texts anew."""

from __future__ import annotations

import gc
import json
import random
import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from attrs import asdict, evolve
from hypothesis import given, settings
from hypothesis import strategies as st
from lsprotocol.types import CodeDescription, PublishDiagnosticsParams

from nodelint.ec2.fake_account import FakeAccount
from nodelint.ec2.snapshot import snapshot_text
from nodelint.lint import recording_context
from nodelint.lint.engine import LintRequest, Selection, Target, lint
from nodelint.lint.incremental import ResultCaches
from nodelint.lint.recording_context import Beginning, RecordingContext
from nodelint.lsp.buffers import Buffer, State
from nodelint.lsp.diagnostics import diagnostics, of_trouble
from nodelint.lsp.handlers import make_server
from nodelint.lsp.project import Project
from nodelint.lsp.protocol import Protocol
from nodelint.model.cluster_objects import PATTERN
from nodelint.model.documents import objects
from nodelint.model.finding import Edit, Finding
from nodelint.model.gap import FilePlace, Findings, Gap
from nodelint.model.manifest import EC2NodeClass, NodePool, Object
from nodelint.model.releases import NEWEST
from nodelint.rule.context import Context
from nodelint.rule.definition import Rule, load_bundled
from nodelint.rule.examples import examples
from nodelint.text import Source
from nodelint.text import incremental as source_incremental
from nodelint.text.incremental import move
from nodelint.text.source import chunks
from tests.karpenter.test_places import ACCOUNT
from tests.lsp.test_lsp import CLASS, POOL
from tests.manifests import nodepool
from tests.project.test_growth import work

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


@pytest.mark.slow
@settings(max_examples=max(20, settings().max_examples * 2 // 3))
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


@pytest.mark.slow
def test_what_is_known_of_an_object_follows_its_text() -> None:
    """Whatever is worked out once for an object stays true where an edit above moves it."""
    rules, target = load_bundled(), Target(NEWEST)
    selection = Selection(frozenset(rules))

    def results(source: Source) -> list[tuple[str, tuple[int, int], list[tuple[str, int, int, str]]]]:
        report = lint([source], LintRequest(target, rules, selection))
        return [(result.rule.name, result.span[1:], edit_places(result.finding.edits)) for result in report.results]

    for example in EXAMPLES[::2]:
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


def test_diagnostics_are_sent_as_pygls_would_send_them(tmp_path: Path) -> None:
    texts = {f"{n}.yaml": text for n, text in enumerate([*EXAMPLES, POOL + CLASS + "\n---\n{"])}
    (view,) = Project(lambda: NOW).views(state_of(tmp_path, texts, 1))
    server, sent = make_server(lambda: NOW), list[bytes]()
    server.protocol.set_writer(SimpleNamespace(write=sent.append))
    assert isinstance(server.protocol, Protocol)
    found = [PublishDiagnosticsParams(b.uri, diagnostics(view, b), b.version) for b in view.buffers]
    found += [
        PublishDiagnosticsParams("a", []),
        PublishDiagnosticsParams(
            "a",
            [
                evolve(
                    of_trouble(Gap(FilePlace("a", 2, 3), "file", "é")), code_description=CodeDescription("https://a")
                )
            ],
        ),
    ]
    used = {
        name for params in found for shown in params.diagnostics for name, value in asdict(shown).items() if value
    }
    assert used > {"code", "code_description", "related_information", "data", "severity", "source"}
    for params in found:
        server.protocol.publish(params)
        server.text_document_publish_diagnostics(params)
        assert json.loads(sent[-1].partition(b"\r\n\r\n")[2]) == json.loads(sent[-2].partition(b"\r\n\r\n")[2])
    assert len(sent) == 2 * len(found)
    server.finish()


BORDERS = (
    *("---\n", "---\n", "...\n", "# c\n", "a: 1\n", "%YAML 1.1\n", "\n", "x", "--- # k\n", "karpenter: 1\n"),
    *("-", ".", " ", "\r\n", "}\n"),
)


def test_documents_of_a_text_that_changes_are_those_of_a_fresh_one() -> None:
    """Where one begins hangs on markers, comments and faults beside it: short texts of these alone."""
    chance, moved = random.Random(1), 0
    for _ in range(800):
        text = "karpenter: a\n" + "".join(chance.choice(BORDERS) for _ in range(chance.randint(1, 16)))
        source = Source.from_text("p.yaml", text)
        for _ in range(3):
            begin = chance.randint(1, len(text))
            text = text[:begin] + chance.choice(["", *BORDERS]) + text[begin + chance.choice([0, 0, 1, 3, 4, 9]) :]
            if "karpenter" not in text or move(source, text) is None:
                break
            moved += 1
            fresh = Source.from_text("p.yaml", text)
            assert shape(source) == shape(fresh)
            assert [(p.offset, p.message) for p in source.problems] == [(p.offset, p.message) for p in fresh.problems]
    assert moved > 1500


@pytest.mark.parametrize("typed", ["x", "# ", "...\n", "---\n"])
@pytest.mark.parametrize(
    "text", ["karpenter: a\n...\n...\n...\n}\n", "karpenter: a\n...\n# c\n---\nb: 1\n---\nc: 1\n"]
)
def test_a_document_that_is_marked_no_longer_is_read_with_those_beside_it(text: str, typed: str) -> None:
    for at in range(len(text) + 1):
        source, new = Source.from_text("p.yaml", text), text[:at] + typed + text[at:]
        if "karpenter" in new and move(source, new) is not None:
            assert shape(source) == shape(Source.from_text("p.yaml", new)), at


@pytest.mark.parametrize(
    ("typed", "at", "looks"),
    [("    # more\n", "spec:", 2), ("x", "---\n", 3), ("# ", "---\n", 3), ("---\n", "spec:", 3), ("", "", 2)],
)
def test_an_edit_looks_at_the_documents_beside_it_alone(
    monkeypatch: pytest.MonkeyPatch, typed: str, at: str, looks: int
) -> None:
    """Of a long text neither markers nor words are looked for in all documents, and no other one is read."""
    seen: list[str] = []

    def find_chunks(text: str, start: int) -> list[tuple[int, int]]:
        seen.append(text)
        return chunks(text, start)

    monkeypatch.setattr(source_incremental, "chunks", find_chunks)
    monkeypatch.setattr(Source, "read_part", count_calls(seen, Source.read_part))
    source = Source.from_text("p.yaml", "---\n".join(POOL.replace("general", f"p{n}") for n in range(60)))
    seen.clear()
    middle = source.text.index(at, len(source.text) // 2)
    text = source.text[:middle] + typed + source.text[middle + (not typed) * len(POOL) :]
    assert move(source, text) is not None
    assert len(seen[0]) <= 5 * len(POOL)
    assert len(seen) <= looks
    assert shape(source) == shape(Source.from_text("p.yaml", text))


def count_calls(seen: list[str], method: Any) -> Any:
    def call(self: Any, *arguments: Any) -> Any:
        seen.append(method.__name__)
        return method(self, *arguments)

    return call


@pytest.mark.parametrize("word", ["abc", "a", "general"])
@pytest.mark.parametrize(
    ("begin", "end", "typed"), [(5, 5, "abc"), (4, 6, ""), (6, 7, "c"), (5, 6, "b"), (2, 9, "bc a")]
)
def test_a_word_is_found_where_it_comes_or_goes(word: str, begin: int, end: int, typed: str) -> None:
    for old in ("xx ab c abc", "general a", "abcabcabc", "aaaaaaaaa", "xbxxabxcxxx"):
        new = old[:begin] + typed + old[end:]
        change = source_incremental._find_change(old, new)
        assert old[: change.head] == new[: change.head]
        assert old[len(old) - change.tail :] == new[len(new) - change.tail :]
        assert change.head + change.tail <= min(len(old), len(new))
        assert len(old) - change.head - change.tail <= end - begin
        assert source_incremental._holds_word(old, new, change, word, word in old) == (word in new)


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
    text = Path(recording_context.__file__).read_text(encoding="utf-8")
    noted = re.findall(
        r'def (\w+)\(self[^)]*\)[^:]*:\n(?:        [^\n]*\n)*?        [^\n]*self\._note\w*\(\s*"(\w+)"', text
    )
    everything = {method for method, name in noted if name == "objects"}
    assert everything == {"resolution_with_overlays", "_workloads_of"}
    assert len(noted) == text.count("self._note") - text.count("self._note_for_run(name)") == 3
    assert [method for method, name in noted if method != name and name != "objects"] == []


class Judge:
    """Texts that are judged again and again, by one server and by a fresh one for each."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.project = Project(lambda: NOW)
        self.number = 0

    def rules(self, **texts: str) -> set[str]:
        """The rules that have found something in texts; whoever sees these anew has to find the same."""
        self.number += 1
        named = {f"{name}.yaml": text for name, text in texts.items()}
        found = visible_state(self.project, state_of(self.home, named, self.number))
        assert found == visible_state(Project(lambda: NOW), state_of(self.home, named, self.number))
        return {str(shown.code) for name in texts for shown in found[(self.home / f"{name}.yaml").as_uri()][0]}


SPOT = nodepool(
    "key: karpenter.sh/capacity-type, operator: In, values: [spot]",
    "key: node.kubernetes.io/instance-type, operator: In, values: [m5.large]",
)
BOTH = nodepool(
    "key: karpenter.sh/capacity-type, operator: In, values: [spot, on-demand]",
    "key: kubernetes.io/arch, operator: In, values: [amd64]",
)


def test_another_pool_that_pods_can_use_comes_and_goes(tmp_path: Path) -> None:
    judge, spot = Judge(tmp_path), SPOT.replace("name: default", "name: spot", 1)
    others = [BOTH.replace("name: default", f"name: other{n}", 1) for n in range(3)]
    assert "narrow-spot" in judge.rules(spot=spot + "---\n" + CLASS)
    assert "narrow-spot" not in judge.rules(spot="---\n".join([spot, CLASS, *others]))
    assert "narrow-spot" not in judge.rules(spot="---\n".join([spot, CLASS, *others[1:]]))
    assert "narrow-spot" not in judge.rules(spot="---\n".join([others[2], spot, CLASS]))
    assert "narrow-spot" in judge.rules(spot="---\n".join([others[2].replace(", on-demand", ""), spot, CLASS]))
    assert "narrow-spot" in judge.rules(spot=spot + "---\n" + CLASS)


def test_what_is_looked_at_of_an_answer_is_noted() -> None:
    """Also by a rule that looks further than another one, and where nothing more is there."""
    objs = [obj for obj in objects(Source.from_text("a.yaml", "---\n".join([POOL] * 4))) if isinstance(obj, NodePool)]
    looked_at = Beginning()
    assert looked_at == []
    assert next(looked_at.follow(iter(objs))) is objs[0]
    assert looked_at == objs[:1]
    assert looked_at.begins(iter(objs[:1])) and looked_at.begins(iter(objs))
    assert not looked_at.begins(iter(())) and not looked_at.begins(iter(objs[1:]))
    assert list(looked_at.follow(iter(objs))) == objs
    assert looked_at == [*objs, None]
    assert next(looked_at.follow(iter(objs))) is objs[0]
    assert looked_at == [*objs, None]
    assert looked_at.begins(iter(objs))
    assert not looked_at.begins(iter(objs[:3])) and not looked_at.begins(iter([*objs, objs[0]]))


def test_a_rule_that_looks_further_is_told_of_what_only_it_has_seen(rules: dict[str, Rule]) -> None:
    """Two rules ask for the same pools, and one of them looks at all of these."""
    texts = [POOL.replace("general", f"p{n}") for n in range(4)]

    def last(pool: NodePool, context: Context) -> Findings:
        if context.duplicates(pool):
            yield Finding(at=pool.node, message=f"{len(list(context.interchangeable_pools(pool)))} beside it")

    def first(pool: NodePool, context: Context) -> Findings:
        if not any(context.interchangeable_pools(pool)):
            yield Finding(at=pool.node, message="alone")

    own = {
        check.__name__: rules["narrow-spot"]._replace(name=check.__name__, check=check, mentions=(), options=())
        for check in (first, last)
    }
    source, memory = Source.from_text("p.yaml", "---\n".join(texts)), ResultCaches()

    def messages(text: str) -> list[str]:
        assert move(source, text) is not None or text == source.text
        found = lint([source], LintRequest(Target(NEWEST), own, Selection(frozenset(own))), memory=memory)
        assert found.faults == ()
        return [result.finding.message for result in found.results]

    assert messages(source.text) == []
    assert messages("---\n".join([*texts, texts[0]])) == ["4 beside it"]
    assert messages("---\n".join([*texts[:-1], texts[0]])) == ["3 beside it"]


def test_each_workload_is_judged_again_where_a_pool_changes(rules: dict[str, Rule]) -> None:
    """What pools take is worked out once for all workloads, and is asked for by each."""
    workloads = "---\n".join(
        f"apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: w{n}}}\nspec: {{template: {{spec: {{"
        "nodeSelector: {karpenter.sh/nodepool: big}, containers: [{name: a}]}}}\n"
        for n in range(3)
    )
    source = Source.from_text("w.yaml", workloads, PATTERN)
    request = LintRequest(Target(NEWEST), rules, Selection(frozenset({"no-pool-for-workload"})))
    memory = ResultCaches()
    for name, count in (("big", 0), ("small", 3), ("big", 0)):
        pool = Source.from_text(
            "p.yaml", nodepool("key: kubernetes.io/arch, operator: In, values: [amd64]", name=name)
        )
        report = lint([source, pool], request, memory=memory)
        assert len(report.places) == count


def test_what_leads_to_an_answer_is_noted_whenever_it_is_asked_for() -> None:
    """Of what is worked out of other objects' answers these are noted, at the second question too."""
    lacking = "".join(line for line in POOL.splitlines(keepends=True) if "nodeClassRef" not in line)
    source = Source.from_text(
        "p.yaml", "---\n".join([POOL.replace("name: main", "name: none"), lacking, CLASS, POOL])
    )
    classless, incomplete, node_class, pool = objects(source)
    assert isinstance(node_class, EC2NodeClass)
    facts = FakeAccount(ACCOUNT).facts([node_class], NEWEST)
    context = RecordingContext([*objects(source)], Target(NEWEST, facts=facts))

    def noted(ask: Callable[[Any], object], obj: Object) -> set[str]:
        context.noted = {}
        ask(obj)
        return {name for name, _, _ in context.noted}

    for _ in range(2):
        assert noted(context.resolution, classless) == {"node_class", "_why_no_class", "_facts_of"}
        assert noted(context.resolution, pool) == {"node_class", "_facts_of"}
        assert noted(context.problems, incomplete) == {"_completing"}
        assert noted(context.problems, pool) == set()
        assert noted(context.images, node_class) == {"_facts_of"}


def test_an_edit_costs_little_for_each_object_that_stays(tmp_path: Path) -> None:
    """Of those it is asked whether they would be told other things; half of them move. It was twice as much."""

    def edit(size: int) -> int:
        pairs = (
            (POOL.replace("name: main", f"name: c{n}"), CLASS.replace("main}", f"c{n}}}", 1)) for n in range(size)
        )
        text = "---\n".join(
            f"{pool.replace('general', f'p{n}')}---\n{node_class}" for n, (pool, node_class) in enumerate(pairs)
        )
        project, middle = Project(lambda: NOW), text.index("spec:", len(text) // 2)

        def see(number: int) -> None:
            seen = text[:middle] + "# a\n" * number + text[middle:]
            (view,) = project.views(state_of(tmp_path, {"p.yaml": seen}, number))
            diagnostics(view, view.buffers[0])

        see(1)
        see(2)
        return work(lambda: see(3))

    edit(4)
    assert (edit(60) - edit(20)) / 40 < 650


@pytest.mark.slow
def test_what_is_kept_does_not_grow_with_edits(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    for number in range(12):
        pair = f"{POOL}---\n{CLASS}".replace("name: default", f"name: n{number}")
        (tmp_path / f"pair-{number}.yaml").write_text(pair, encoding="utf-8")
    edited = tmp_path / "pair-1.yaml"
    text = edited.read_text(encoding="utf-8")
    project = Project(lambda: NOW)

    def count_objects(first: int, last: int) -> int:
        for number in range(first, last):
            buffer = Buffer(edited.as_uri(), number, text.replace("---", f"# {number}\n---", 1), "utf-16")
            visible_state(project, State({buffer.uri: buffer}, (str(tmp_path),), number, 0))
        gc.collect()
        return len(gc.get_objects())

    before = count_objects(1, 10)
    assert count_objects(10, 60) < before + 500  # fifty texts, read anew, would be some 20,000
