"""A controller's log by cause: releases, wrappings, cut logs, text that is not a log, and what the manifests say."""

from __future__ import annotations

import csv
import gzip
import io
import json
import subprocess
import time
import tracemalloc
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from nodelint.data import table
from nodelint.ec2.fake_account import FakeAccount
from nodelint.lint.engine import LintRequest, Target, lint
from nodelint.model.documents import objects
from nodelint.model.manifest import EC2NodeClass
from nodelint.model.releases import NEWEST, RELEASES, KubernetesVersion, Version, releases_match
from nodelint.report.triage import triage_json, triage_text
from nodelint.rule.definition import Rule
from nodelint.text import Source
from nodelint.triage import NoLog, Triage, bounded, format_time, triage, with_findings
from nodelint.triage.causes import Case, Verdict, causes, recognise, release_of, shape
from nodelint.triage.streams import LONGEST_LINE
from nodelint.triage.times import instant
from tests.conftest import ROOT, by_place

LOGS = ROOT / "tests" / "triage"
RELEASED = ("1.0.9", "1.6.8", "1.14.1")
SCHEMA = jsonschema.Draft202012Validator(
    json.loads((ROOT / "schemas" / "triage.schema.json").read_text(encoding="utf-8"))
)


def log(release: str) -> bytes:
    return (LOGS / f"controller-{release}.log").read_bytes()


def lines_of(*texts: str) -> list[bytes]:
    return [f"{text}\n".encode() for text in texts]


def line(
    message: str,
    error: str | None = None,
    *,
    at: str = "2026-02-10T05:00:00.123Z",
    level: str = "ERROR",
    commit: str = "7a8109f",
    **fields: object,
) -> str:
    """A line as the controller writes it; the commit is that of 1.6.8."""
    record = {"level": level, "time": at, "logger": "controller", "message": message, "commit": commit, **fields}
    return json.dumps(record if error is None else {**record, "error": error}, separators=(",", ":"))


def verdicts(read: Triage) -> dict[str, str]:
    return {group.cause.id if group.cause else group.title: group.verdict for group in read.groups}


# The releases


@pytest.mark.parametrize("release", RELEASED)
def test_a_log_of_each_release_as_text(release: str, snapshot: SnapshotAssertion) -> None:
    read = triage(io.BytesIO(log(release)))
    assert [(str(r.version), r.source) for r in read.releases] == [(release, "log")]
    assert triage_text(read, f"controller-{release}.log") == snapshot


@pytest.mark.parametrize("release", RELEASED)
def test_a_log_of_each_release_as_json(release: str) -> None:
    read = triage(io.BytesIO(log(release)))
    found = triage_json(read, f"controller-{release}.log")
    SCHEMA.validate(found)
    messages = [(group["title"], group["verdict"], group["times"]) for group in found["groups"]]
    assert messages == [(group.title, group.verdict, group.times) for group in read.groups]


def test_what_the_json_of_a_log_looks_like(snapshot: SnapshotAssertion) -> None:
    """The first groups; those that follow have the same fields."""
    found = triage_json(triage(io.BytesIO(log(RELEASED[-1]))), "controller.log")
    assert json.dumps({**found, "groups": found["groups"][:3]}, indent=1, ensure_ascii=False) == snapshot


@pytest.mark.parametrize(
    ("commit", "at", "verdict"),
    [
        ("7a8109f", "2026-02-10T05:00:09.000Z", "passes"),  # 1.6.8, just after its start
        ("7a8109f", "2026-02-10T05:20:00.000Z", "unclear"),  # later, it has another reason
        ("54ada83", "2026-02-10T05:00:09.000Z", "stays"),  # 1.7.0 fills the list before it starts
    ],
)
def test_no_instance_types_found_passes_only_at_the_start_before_1_7_0(commit: str, at: str, verdict: str) -> None:
    started = line("Starting workers", level="INFO", commit=commit)
    failed = line("skipping, unable to resolve instance types", "no instance types found", at=at, commit=commit)
    assert verdicts(triage(lines_of(started, failed))) == {"no-types-known": verdict}


def test_where_the_start_is_not_in_the_log_it_cannot_be_told() -> None:
    failed = [line("Reconciler error", "no instance types found", at=f"2026-02-10T05:0{n}:00Z") for n in (0, 9)]
    early, late = (group.case for group in triage(lines_of(*failed)).groups)
    assert early and late and early.verdict == late.verdict == "unclear"
    assert "does not show when the controller started" in early.means  # it may have been just before
    assert "this lasts longer" in late.means  # nine minutes on, it is not


def test_the_start_is_that_of_the_same_pod() -> None:
    started = "[pod/karpenter-b/controller] " + line("Starting workers", level="INFO", at="2026-02-10T05:30:00Z")
    failed = line("x", "no instance types found", at="2026-02-10T05:30:05Z")
    a, b = (f"[pod/karpenter-{pod}/controller] {failed}" for pod in "ab")
    assert [g.verdict for g in triage(lines_of(started, a, b)).groups] == ["unclear", "passes"]


def test_an_upgrade_in_the_log_is_seen_in_its_lines() -> None:
    old, new = (line("a", "conversion webhook for karpenter.sh failed", commit=c) for c in ("7e06109", "bde0065"))
    read = triage(lines_of(old, new))
    assert [str(r.version) for r in read.releases] == ["1.0.9", "1.14.1"]
    assert [(g.verdict, str(g.releases[0])) for g in read.groups] == [("stays", "1.14.1"), ("unclear", "1.0.9")]


def test_the_release_is_the_users_word_where_the_log_has_none() -> None:
    own_build = lines_of(line("Reconciler error", "no instance types found", commit="fffffff-dirty"))
    assert triage(own_build, Version(1, 3, 0)).releases[0] == (Version(1, 3, 0), "given")
    debug = line("discovered karpenter version", level="DEBUG", commit="fffffff", version="1.5.2")
    assert triage([*lines_of(debug), *own_build], Version(1, 3, 0)).releases[0] == (Version(1, 5, 2), "log")


def test_where_the_release_is_not_known_what_depends_on_it_cannot_be_told() -> None:
    started = line("Starting workers", level="INFO", commit="")
    failed = line("Reconciler error", "no instance types found", at="2026-02-10T05:00:09.000Z", commit="")
    same = line("Reconciler error", "no instance types satisfy requirements of amis [ami-1]", commit="")
    read = triage(lines_of(started, failed, same))
    assert read.releases == ()
    assert verdicts(read) == {"no-types-known": "unclear", "image-none-fits": "stays"}
    text = triage_text(read, "-")
    assert "of Karpenter (release not known), " in text
    assert "It depends on the release" in text and "Up to 1.6.8: " in text and "From 1.7.0 on" in text
    assert "help: Name the release with --karpenter-version." in text
    SCHEMA.validate(triage_json(read, "-"))
    assert verdicts(triage(lines_of(started, failed), Version(1, 6, 8))) == {"no-types-known": "passes"}


def test_where_the_release_is_not_known_each_meaning_has_its_releases() -> None:
    def cause_and_verdict(*cases: tuple[str, Verdict, str]) -> tuple[str, str]:
        written = tuple(Case(releases, None, verdict, means, "") for releases, verdict, means in cases)
        case = causes()[0]._replace(cases=written).case_of_any_release("unknown")
        return case.means.removeprefix("It depends on the release, which is not known here. "), case.verdict

    three: tuple[tuple[str, Verdict, str], ...] = (
        (">=1.7.0", "stays", "now"),
        ("<1.2.0", "stays", "at first"),
        ("", "passes", "then"),
    )
    assert cause_and_verdict(*three) == ("Up to 1.1.10: at first 1.2.0 to 1.6.8: then From 1.7.0 on: now", "unclear")
    own = "Up to 1.6.8 at first"  # a text that says so itself
    assert cause_and_verdict(three[0], ("<1.7.0", "stays", own)) == (f"{own} From 1.7.0 on: now", "stays")


def test_what_goes_on_after_the_start_is_told_once() -> None:
    def log_of(*minutes: int, pool: str = "default") -> Triage:
        times = [f"2026-02-10T{5 + n // 60:02}:{n % 60:02}:09Z" for n in minutes]
        failed = [line("skipping", "no instance types found", at=at, NodePool={"name": pool}) for at in times]
        return triage(lines_of(line("Starting workers", level="INFO"), *failed))

    [group] = log_of(0, 3, 12).groups
    assert (group.verdict, group.times, group.example.line) == ("unclear", 3, 2)
    assert group.first == instant("2026-02-10T05:00:09Z") and group.last == instant("2026-02-10T05:12:09Z")
    # What was over for an hour in between did pass the first time.
    assert [(g.verdict, g.times) for g in log_of(0, 3, 63).groups] == [("unclear", 1), ("passes", 2)]


# One node after another for the same pod


def rounds(
    count: int, *, fits: int = 1, ready: bool = True, gone: bool = False, commit: str = "0871602"
) -> list[bytes]:
    """Rounds of scheduling of one pod, each with a node of its own; the commit is that of 1.4.0."""
    found = []
    for n in range(count):
        at = f"2026-02-10T05:{n * 2:02}:00Z"
        claim, node = {"name": f"web-{n}x7k2"}, {"name": f"ip-10-0-0-{n}"}
        messages = [
            line(
                "found provisionable pod(s)", level="INFO", at=at, commit=commit, Pods="shop/cart-0", duration="9ms"
            ),
            line(
                "computed new nodeclaim(s) to fit pod(s)", level="INFO", at=at, commit=commit, nodeclaims=1, pods=fits
            ),
            line("created nodeclaim", level="INFO", at=at, commit=commit, NodePool={"name": "web"}, NodeClaim=claim),
        ]
        if ready:
            messages.append(
                line("initialized nodeclaim", level="INFO", at=at, commit=commit, NodeClaim=claim, Node=node)
            )
        if gone:
            messages.append(line("tainted node", level="INFO", at=at, commit=commit, Node=node))
        found += lines_of(*messages)
    return found


def test_the_same_launch_again_and_again_for_one_pod_is_a_finding() -> None:
    [group] = triage(rounds(4)).groups
    assert group.cause and (group.cause.id, group.verdict, group.times) == ("launched-again", "stays", 4)
    assert group.names["Pod"] == ("shop/cart-0",)
    assert len(group.names["NodeClaim"]) == 4
    assert "Before 1.4.0" not in triage_text(triage(rounds(4)), "-")
    [old] = triage(rounds(3, commit="ff59416")).groups  # 1.3.0
    assert old.case and "Before 1.4.0, Karpenter can record the wrong image for a node" in old.case.means
    assert old.rules == ("undiscovered-memory",)


def test_launches_that_have_another_reason_are_no_finding() -> None:
    assert triage(rounds(2)).groups == ()
    assert triage(rounds(4, ready=False)).groups == ()  # the nodes never came up: another fault, told elsewhere
    assert triage(rounds(4, gone=True)).groups == ()  # the nodes went away, and the pod with them
    assert triage(rounds(4, fits=2)).groups == ()  # of the pods, not all are named
    # Far into a log too, where most lines are only glanced at.
    calm = lines_of(line("disrupting node(s)", level="INFO", at="2026-02-10T04:00:00Z")) * 200
    assert len(triage([*calm, *rounds(3)]).groups) == 1


@pytest.mark.parametrize(("came_up", "found"), [("ab", 1), ("a", 0), ("", 0)])
def test_pods_of_one_round_are_in_vain_where_all_their_nodes_came_up(came_up: str, found: int) -> None:
    """The log does not say which of the pods goes to which of the nodes that are made in its round."""
    lines = []
    for n in range(3):
        at = f"2026-02-10T05:{n * 2:02}:00Z"
        claims = {name: {"name": f"{name}-{n}"} for name in "ab"}
        known: Any = {"level": "INFO", "at": at, "commit": "0871602"}
        lines += [
            line("found provisionable pod(s)", Pods="shop/cart-0, shop/cart-1", **known),
            line("computed new nodeclaim(s) to fit pod(s)", nodeclaims=2, pods=2, **known),
            *(line("created nodeclaim", NodeClaim=claim, **known) for claim in claims.values()),
            *(line("initialized nodeclaim", NodeClaim=claims[name], Node=claims[name], **known) for name in came_up),
        ]
    assert len(triage(lines_of(*lines)).groups) == found


# Wrappings

STAMP = "2026-02-10T05:00:00.123456789Z"


def console(text: str) -> str:
    read = json.loads(text)
    time, level, logger, message = (read.pop(key) for key in ("time", "level", "logger", "message"))
    return f"{time}\t{level}\t{logger}\t{message}\t{json.dumps(read)}"


WRAPPINGS: dict[str, Callable[[str], str]] = {
    "json": lambda text: text,
    "spaced json": lambda text: json.dumps(json.loads(text)),
    "console": console,
    "console with caller": lambda text: console(text).replace(
        "\tcontroller\t", "\tcontroller\tlifecycle/launch.go:79\t"
    ),
    "kubectl --timestamps": lambda text: f"{STAMP} {text}",
    "kubectl --prefix": lambda text: f"[pod/karpenter-6f5c7b9d4-x2x8z/controller] {text}",
    "kubectl --prefix --timestamps": lambda text: f"[pod/karpenter-6f5c7b9d4-x2x8z/controller] {STAMP} {text}",
    "stern": lambda text: f"karpenter-6f5c7b9d4-x2x8z controller {text}",
    "stern in colour": lambda text: f"\x1b[38;5;3mkarpenter-6f5c7b9d4-x2x8z\x1b[0m \x1b[33mcontroller\x1b[0m {text}",
    "stern, console": lambda text: f"karpenter-6f5c7b9d4-x2x8z controller {console(text)}",
    "cri": lambda text: f"{STAMP} stderr F {text}",
    "docker": lambda text: json.dumps({"log": text + "\n", "stream": "stderr", "time": STAMP}),
    "fluent bit": lambda text: json.dumps({"log": text, "kubernetes": {"pod_name": "karpenter-6f5c7b9d4-x2x8z"}}),
    "fluent bit, merged": lambda text: json.dumps({"log": "-", "log_processed": json.loads(text)}),
    "compose": lambda text: f"karpenter-1  | {text}",
    "journal": lambda text: f"Feb 10 05:00:00 ip-10-0-3-9 karpenter[812]: {text}",
    "carriage return": lambda text: f"{text}\r",
}


@pytest.mark.parametrize("wrap", WRAPPINGS.values(), ids=WRAPPINGS)
@pytest.mark.parametrize("release", RELEASED)
def test_the_same_is_found_in_any_wrapping(release: str, wrap: Callable[[str], str]) -> None:
    plain = triage(io.BytesIO(log(release)))
    wrapped = triage(lines_of(*map(wrap, log(release).decode().splitlines())))
    assert wrapped.groups == plain.groups
    assert (wrapped.read, wrapped.unread, wrapped.last) == (plain.read, 0, plain.last)


@given(
    st.sampled_from(sorted(WRAPPINGS)),
    st.sampled_from([" ".join(words) for cause in causes() for words in cause.says]),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=60),
    st.lists(st.binary(max_size=80).filter(lambda b: b"\n" not in b and b"karpenter" not in b), max_size=4),
)
def test_a_known_message_survives_any_prefix_and_noise(
    wrap: str, expected: str, tail: str, noise: list[bytes]
) -> None:
    text = WRAPPINGS[wrap](line("Reconciler error", f"{expected} {tail}"))
    found = triage([*(n + b"\n" for n in noise), *lines_of(text)])
    want = recognise(f"Reconciler error\n{expected} {tail}")
    assert want and [g.cause for g in found.groups if g.cause] == [want]


def csv_export(lines: list[str]) -> str:
    text = io.StringIO()
    csv.writer(text).writerows([("@timestamp", "@message"), *(("2026-02-10 05:00:00.000", line) for line in lines)])
    return text.getvalue()


EXPORTS: dict[str, Callable[[list[str]], str]] = {
    "logcli": lambda lines: "\n".join(f'{STAMP} {{app="karpenter", pod="karpenter-1"}} {line}' for line in lines),
    "logcli -o jsonl": lambda lines: "\n".join(
        json.dumps({"labels": {"app": "karpenter"}, "line": line, "timestamp": STAMP}) for line in lines
    ),
    "Grafana, JSON": lambda lines: json.dumps([{"line": line, "timestamp": "1770699600000000000"} for line in lines]),
    "Loki's API": lambda lines: json.dumps(
        {"data": {"result": [{"stream": {}, "values": [["1", n] for n in lines]}]}}
    ),
    "Logs Insights, CSV": csv_export,
    "Logs Insights, JSON": lambda lines: json.dumps([{"@message": json.loads(line)} for line in lines], indent=2),
    "get-query-results": lambda lines: json.dumps(
        {"results": [[{"field": "@message", "value": line}] for line in lines], "status": "Complete"}, indent=4
    ),
    "filter-log-events": lambda lines: json.dumps({"events": [{"message": line} for line in lines]}, indent=4),
    "aws logs tail": lambda lines: "\n".join(f"2026-02-10T05:00:00.000000+00:00 stream {line}" for line in lines),
    "Fluent Bit on CRI": lambda lines: "\n".join(
        json.dumps({"time": STAMP, "stream": "stderr", "_p": "F", "log": line}) for line in lines
    ),
    "Datadog": lambda lines: json.dumps({"data": [{"attributes": {"message": line}} for line in lines]}),
    "Datadog, parsed": lambda lines: "\n".join(
        json.dumps({"content": {"message": "m", "attributes": json.loads(line)}}) for line in lines
    ),
    "Elasticsearch": lambda lines: "\n".join(json.dumps({"_source": {"message": line}}) for line in lines),
    "journalctl -o json": lambda lines: "\n".join(json.dumps({"MESSAGE": line, "_PID": "1"}) for line in lines),
    "console in JSON": lambda lines: json.dumps([{"line": console(line)} for line in lines]),
    "jq": lambda lines: "\n".join(json.dumps(json.loads(line), indent=2) for line in lines),
    "jq -s": lambda lines: json.dumps([json.loads(line) for line in lines], indent=2),
    "jq -sc": lambda lines: json.dumps([json.loads(line) for line in lines], separators=(",", ":")),
    "a terminal of 120 columns": lambda lines: "\n".join(
        line[n : n + 120] for line in lines for n in range(0, len(line), 120)
    ),
}


@pytest.mark.parametrize("export", EXPORTS.values(), ids=EXPORTS)
@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["lf", "crlf"])
def test_the_same_is_found_in_any_export(export: Callable[[list[str]], str], end: str) -> None:
    plain = triage(io.BytesIO(log("1.6.8")))
    text = export(log("1.6.8").decode().splitlines()).replace("\r\n", "\n").replace("\n", end)
    read = triage(bounded(io.BytesIO(text.encode())))
    assert read.read == plain.read
    found, wanted = ([(g.cause, g.times, g.names, g.first, g.over) for g in item.groups] for item in (read, plain))
    assert found == wanted
    assert not (read.cut_first or read.cut_last)


@pytest.mark.parametrize("form", ["Grafana, JSON", "Loki's API", "jq -sc"])
def test_an_export_of_one_long_line_is_read_whole(form: str) -> None:
    lines = log("1.6.8").decode().splitlines() * 150
    text = EXPORTS[form](lines).encode()
    assert len(text) > 2 * LONGEST_LINE
    read = triage(bounded(io.BytesIO(text)))
    assert read.read == len(lines)
    assert sum(g.times for g in read.groups) == 150 * sum(g.times for g in triage(io.BytesIO(log("1.6.8"))).groups)


def test_a_broken_line_takes_no_whole_one_with_it() -> None:
    whole = line("Reconciler error", "no amis exist given constraints")
    read = triage(lines_of(whole[:90], "a word of another program", whole, whole[:50], console(whole), whole[:70]))
    assert [(g.times, g.example.line) for g in read.groups] == [(2, 3)]
    assert (read.read, read.unread, read.cut_first, read.cut_last) == (2, 4, False, True)


def test_a_line_that_the_runtime_has_cut_in_pieces_is_joined() -> None:
    text = line("Reconciler error", "no instance types satisfy requirements of amis [ami-1] " + "x" * 40_000)
    cri = [
        f"{STAMP} stderr {'P' if n + 16384 < len(text) else 'F'} {text[n : n + 16384]}"
        for n in range(0, len(text), 16384)
    ]
    docker = [
        json.dumps(
            {"log": text[n : n + 16384] + ("" if n + 16384 < len(text) else "\n"), "stream": "stderr", "time": STAMP}
        )
        for n in range(0, len(text), 16384)
    ]
    for pieces in (cri, docker):
        assert len(pieces) == 3
        read = triage(lines_of(*pieces))
        assert verdicts(read) == {"image-none-fits": "stays"}
        assert (read.read, read.unread) == (1, 0)


def test_several_pods_and_other_programs_in_one_stream() -> None:
    other = '{"level":"error","ts":"2026-02-10T05:00:00Z","logger":"aws-load-balancer","msg":"AccessDenied"}'
    mixed: list[str] = []
    for a, b in zip(log("1.0.9").decode().splitlines(), log("1.6.8").decode().splitlines(), strict=False):
        mixed += [
            f"karpenter-a controller {a}",
            f"+ karpenter-c › controller\n{other}",
            f"karpenter-b controller {b}",
        ]
    read = triage(f"{text}\n".encode() for word in mixed for text in word.split("\n"))
    assert [str(r.version) for r in read.releases] == ["1.0.9", "1.6.8"]
    assert read.unread == 2 * min(log("1.0.9").count(b"\n"), log("1.6.8").count(b"\n"))
    assert {"image-none-fits", "alias-empty", "pool-empty"} <= set(verdicts(read))
    [alias] = [g for g in read.groups if g.cause and g.cause.id == "alias-empty"]
    assert sorted(alias.names["EC2NodeClass"]) == ["batch", "edge"]
    assert list(map(str, alias.releases)) == ["1.0.9", "1.6.8"]


# What is cut, broken, large or no log


@pytest.mark.parametrize("release", RELEASED)
def test_a_log_cut_in_the_middle_is_read_and_the_cut_is_said(release: str) -> None:
    whole = log(release)
    cut = whole[whole.index(b"\n") - 40 : -30]
    read = triage(io.BytesIO(cut))
    assert read.cut_first and read.cut_last
    assert read.read == whole.count(b"\n") - 2
    assert "2 lines could not be read, the first and the last among them" in triage_text(read, "cut.log")
    SCHEMA.validate(triage_json(read, "cut.log"))


def test_a_word_of_kubectls_before_a_log_is_no_cut() -> None:
    expected = "Defaulted container controller out of: controller, proxy (init)"
    read = triage([*lines_of(expected), *io.BytesIO(log("1.6.8"))])
    assert (read.unread, read.cut_first) == (1, False)
    assert triage_text(read, "-").splitlines()[1] == "1 line is ignored: not lines of the controller."


def test_a_whole_log_is_not_called_cut() -> None:
    read = triage(io.BytesIO(log("1.6.8")))
    assert not (read.cut_first or read.cut_last or read.unread)
    assert "could not be read" not in triage_text(read, "x")


@pytest.mark.parametrize(
    "text",
    [
        "apiVersion: v1\nkind: Pod\n",
        "panic: runtime error: index out of range\n\ngoroutine 1 [running]:\nmain.main()\n",
        '{"level":"error","ts":1,"logger":"controller","msg":"AccessDenied"}\n',
        '{"level":"ERROR","time":"2026-02-10T05:00:00Z","logger":"app","message":"AccessDenied"}\n',
        'time=1 msg="synced sigs.k8s.io/karpenter"\npanic: AccessDenied\n',
        "[" * 100_000,
        '{"a":' * 100_000,
    ],
)
def test_text_that_is_no_log_is_refused(text: str) -> None:
    with pytest.raises(NoLog, match="holds no line of a Karpenter controller's log"):
        triage(io.BytesIO(text.encode()))


@pytest.mark.parametrize("text", ["", "\n\n"])
def test_an_empty_log_is_called_empty(text: str) -> None:
    with pytest.raises(NoLog, match=r"^is empty: `kubectl logs "):
        triage(io.BytesIO(text.encode()))


def test_a_compressed_log_is_called_that() -> None:
    with pytest.raises(NoLog, match=r"is compressed \(gzip\): unpack it first"):
        triage(bounded(io.BytesIO(gzip.compress(log("1.6.8")))))


def test_a_panic_at_the_start_counts_where_karpenters_own_code_is_in_its_trace() -> None:
    trace = (
        "panic: missing field, cluster-name",
        "",
        "goroutine 1 [running]:",
        "\tsigs.k8s.io/karpenter/pkg/operator.go:9",
    )
    assert verdicts(triage(lines_of(*trace))) == {"cluster-name-missing": "stays"}


@pytest.mark.parametrize(
    "piece",
    [
        'x{"level":"ERROR", ',
        '"{\\"level\\":\\"ERROR ',
        '{\\"level\\":\\"ERROR ',
        '"{""level"":""ERROR ',
        '{"level":"ERROR","a":',
    ],
)
def test_a_long_line_of_broken_entries_takes_no_long_time(piece: str) -> None:
    start = time.process_time()
    with pytest.raises(NoLog):
        triage(bounded(io.BytesIO(piece.encode() * 40_000)))
    assert time.process_time() - start < 20  # a second or two; were it quadratic, many minutes


@given(st.lists(st.one_of(st.binary(max_size=200), st.sampled_from(log("1.6.8").splitlines())), max_size=12))
def test_bytes_of_any_kind_never_raise(pieces: list[bytes]) -> None:
    data = b"\n".join(pieces)
    for cut in (data, data[7:], data[: len(data) // 2]):
        try:
            read = triage(bounded(io.BytesIO(cut)))
        except NoLog:
            continue
        SCHEMA.validate(triage_json(read, "-"))
        assert triage_text(read, "-").isprintable() or "\n" in triage_text(read, "-")


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=8),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
        max_leaves=8,
    ),
    st.sampled_from(
        ["time", "error", "commit", "version", "NodePool", "controllerKind", "name", "namespace", "log", "logger"]
    ),
)
def test_values_of_any_type_in_a_line_never_raise(value: object, key: str) -> None:
    fields: dict[str, object] = {
        "level": "ERROR",
        "time": "2026-02-10T05:00:00Z",
        "logger": "controller",
        "message": "m",
    }
    text = json.dumps({**fields, "commit": "7a8109f", "controllerKind": "NodePool", key: value})
    SCHEMA.validate(triage_json(triage(lines_of(text)), "-"))


def test_a_large_log_streams_in_bounded_memory() -> None:
    def many() -> Iterator[bytes]:
        quiet = line("computed new nodeclaim(s) to fit pod(s)", level="INFO").encode() + b"\n"
        for n in range(1_500):
            yield quiet
            if n % 3 == 0:
                request = f"with RequestID {n:08x}-1111-2222-3333-444444444444"
                yield line("Reconciler error", f"an odd thing {request}", NodeClaim={"name": f"pool-{n}"}).encode()
            if n % 60 == 0:
                yield b"x" * LONGEST_LINE

    tracemalloc.start()
    read = triage(many())
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert read.read == 2_000
    [group] = read.groups
    assert group.times == 500
    assert len(group.names["NodeClaim"]) == 500
    assert peak < 20e6, "of 25 MB"


def test_a_line_without_an_end_is_cut_and_the_next_one_read() -> None:
    known = line("Reconciler error", "no amis exist given constraints").encode()
    stream = io.BytesIO(b"x" * (3 * LONGEST_LINE) + b"\n" + known)
    assert [len(value) for value in bounded(stream)] == [LONGEST_LINE, len(known)]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig"])
def test_a_log_that_windows_has_encoded_is_read(encoding: str) -> None:
    text = log("1.6.8").decode().replace("\n", "\r\n")
    assert triage(bounded(io.BytesIO(text.encode(encoding)))) == triage(bounded(io.BytesIO(log("1.6.8"))))


def test_unknown_messages_are_grouped_by_shape_up_to_a_bound() -> None:
    def word(n: int) -> str:
        return "".join(chr(ord("a") + int(digit)) for digit in str(n))

    read = triage(lines_of(*(line("odd", f"thing {word(n)} went {word(n * 7)}") for n in range(400))))
    assert len(read.groups) == 300
    assert read.shapes_dropped == 100
    assert "100 lines of further unknown messages are left out." in triage_text(read, "-")


def test_a_shape_masks_what_differs() -> None:
    a = 'failed on i-0123456789abcdef0 at 10.0.3.9:443 for "a" of pool-x7k2p, 3b0a6b7e-6a8a-41ab-8d2c-9e5ef5b8a0d1'
    b = 'failed on i-0fedcba9876543210 at 10.1.2.3:443 for "bb" of pool-zzzzz, 00000000-6a8a-41ab-8d2c-9e5ef5b8a0d1'
    assert shape(a, ("pool-x7k2p",)) == shape(b, ("pool-zzzzz",))
    assert shape(a) != shape(a.replace("failed", "succeeded"))
    assert shape("pool ab of abs, in-ab", ("ab",)) == "pool <name> of abs, in-ab"
    assert shape("pool abcde of abcdef", ("abcde",)) == "pool <name> of <name>f"


# Times


@given(st.datetimes(datetime(1970, 1, 2), datetime(9000, 1, 1), timezones=st.just(UTC)))
def test_times_are_those_of_the_calendar(moment: datetime) -> None:
    moment = moment.replace(microsecond=moment.microsecond // 1000 * 1000)
    time = instant(moment.isoformat())
    assert time is not None and abs(time - moment.timestamp()) < 0.001
    assert format_time(time) == moment.strftime("%Y-%m-%dT%H:%M:%SZ").rjust(20, "0")


def test_a_time_of_another_zone_is_turned_into_utc() -> None:
    assert format_time(instant("2026-02-10T05:00:00.5+0530") or 0) == "2026-02-09T23:30:00Z"
    assert instant("2026-13-01T00:00:00Z") is None


def test_what_stopped_long_before_the_end_seems_over() -> None:
    last = line("computed new nodeclaim(s) to fit pod(s)", level="INFO", at="2026-02-10T05:40:12.000Z")
    failed = line("Reconciler error", "no amis exist given constraints", at="2026-02-10T02:10:00Z")
    read = triage(lines_of(failed, last))
    assert [g.over for g in read.groups] == [True]
    assert "it seems to be over: the log goes on to 05:40:12 without it" in triage_text(read, "-")
    assert not triage(lines_of(failed, last.replace("05:40", "02:30"))).groups[0].over
    # What comes only every two hours is not over after three of silence.
    before = failed.replace("T02:10", "T00:10")
    assert not triage(lines_of(before, failed, last)).groups[0].over


@pytest.mark.parametrize(
    "error", ["RequestLimitExceeded: Request limit exceeded.", "InsufficientInstanceCapacity: no"]
)
def test_what_should_pass_but_goes_on_for_hours_cannot_be_told(error: str) -> None:
    def failed(*minutes: int) -> Triage:
        times = (f"2026-02-10T{5 + n // 60:02}:{n % 60:02}:00Z" for n in minutes)
        return triage(lines_of(*(line("failed launching nodeclaim", error, at=at) for at in times)))

    [group] = failed(*range(0, 131, 10)).groups
    assert (group.verdict, group.lasting) == ("unclear", 130 * 60)
    assert "in this log it has lasted for 2 h 10 min without a break" in triage_text(failed(*range(0, 131, 10)), "-")
    # Now and then over a day is what passes each time.
    assert verdicts(failed(0, 10, 300, 310, 900, 910)).popitem()[1] == "passes"
    assert verdicts(failed(*range(0, 50, 10))).popitem()[1] == "passes"
    shown = triage_json(failed(*range(0, 131, 10)), "-")
    SCHEMA.validate(shown)
    assert [(g["verdict"], g["lasting"]) for g in shown["groups"]] == [("unclear", True)]


def test_noise_that_goes_on_stays_noise() -> None:
    error = "the object has been modified; please apply your changes to the latest version and try again"
    noise = [
        line("Reconciler error", error, at=f"2026-02-10T{n:02}:{m}:00Z") for n in range(20) for m in (10, 30, 50)
    ]
    assert verdicts(triage(lines_of(*noise))) == {"conflict": "passes"}


def test_a_release_older_than_the_rules_know_is_said() -> None:
    old = triage(lines_of(line("Reconciler error", "object is awaiting reconciliation", commit="490ef94")))
    assert (
        "0.37.0 is older than 1.0.0, the oldest release that nodelint knows: some messages may not be recognized."
        in triage_text(old, "-")
    )
    assert "older than" not in triage_text(triage(io.BytesIO(log("1.0.9"))), "-")


def test_each_refused_call_is_told_apart() -> None:
    errors = (
        "api error UnauthorizedOperation: User: arn:x is not authorized to perform: ec2:RunInstances on resource: y",
        "AccessDenied: User: arn:x is not authorized to perform: iam:GetInstanceProfile on resource: y",
        "operation error EC2: CreateFleet, https response error StatusCode: 403, api error UnauthorizedOperation: no",
        "UnauthorizedOperation: You are not authorized to perform this operation.\n\tstatus code: 403",
    )
    read = triage(lines_of(*(line("Reconciler error", error) for error in (*errors, errors[0]))))
    assert [(g.title.partition(": ")[2], g.times) for g in read.groups] == [
        ("ec2:RunInstances", 2),
        ("iam:GetInstanceProfile", 1),
        ("ec2:CreateFleet", 1),
        ("", 1),
    ]
    assert {g.cause.id for g in read.groups if g.cause} == {"permission-refused"}


def test_a_policy_above_the_role_has_its_own_advice() -> None:
    denied = "UnauthorizedOperation: User: arn:x is not authorized to perform: ec2:RunInstances on resource: y "
    for why, cause in (
        ("with an explicit deny in a service control policy.", "permission-denied-above"),
        ("because no permissions boundary allows the ec2:RunInstances action", "permission-denied-above"),
        ("because no identity-based policy allows the ec2:RunInstances action", "permission-refused"),
    ):
        (group,) = triage(lines_of(line("Reconciler error", denied + why))).groups
        assert group.cause is not None and (group.cause.id, group.title.partition(": ")[2]) == (
            cause,
            "ec2:RunInstances",
        )
        assert group.case is not None and ("organization" in group.case.do) == (cause == "permission-denied-above")


def test_the_reasons_in_error_causes_are_read() -> None:
    refused = [
        'incompatible with nodepool "a", did not tolerate x=y:NoSchedule',
        'all available instance types exceed limits for nodepool: "b"',
    ]
    text = {"level": "ERROR", "time": "2026-05-08T10:00:00.000Z", "logger": "controller", "commit": "abc"}
    text |= {"message": "could not schedule pod", "controller": "provisioner"}
    for listed, cause in (
        ([{"error": error} for error in refused], "node-limits"),
        ([], "pod-unscheduled"),
        ("none", "pod-unscheduled"),
        ([1, {"error": 2}], "pod-unscheduled"),
    ):
        data = json.dumps({**text, "errorCauses": listed}).encode() + b"\n"
        (group,) = triage(io.BytesIO(data)).groups
        assert group.cause is not None and group.cause.id == cause
        assert group.example.error == ("; ".join(refused) if cause == "node-limits" else "")


def test_an_encoded_message_does_not_hide_what_was_refused() -> None:
    error = (
        "creating fleet, UnauthorizedOperation: You are not authorized to perform this operation. Encoded "
        f"authorization failure message: {'aB3_-x' * 100} status code: 403 for ec2:RunInstances"
    )
    text = triage_text(triage(lines_of(line("Reconciler error", error))), "-")
    assert "failure message: … status code: 403 for" in " ".join(text.split())
    assert "aws sts decode-authorization-message" in text


# Known messages, as data


def test_every_cause_is_found_by_its_own_words() -> None:
    for cause in causes():
        for words in cause.says:
            assert recognise(" ".join(words)) is cause, f"{words} is taken by another cause before {cause.id}"


def test_every_cause_says_what_it_means_in_every_release() -> None:
    assert len({cause.id for cause in causes()}) == len(causes())
    for cause in causes():
        assert cause.title[0].islower() or cause.title.startswith(("AWS", "EC2", "EKS", "CRD")), cause.id
        assert len(cause.title) <= 80 and not cause.title.endswith(".")
        assert cause.cases[-1].start is None and cause.cases[-1].releases == "", cause.id
        for case in cause.cases:
            assert case.verdict in ("stays", "unclear", "passes")
            assert case.means.endswith(".") and case.do
            assert any(releases_match(case.releases, release) for release in RELEASES), cause.id


@pytest.mark.parametrize("name", sorted({name for cause in causes() for name in cause.rules}))
def test_every_rule_that_is_named_exists(name: str) -> None:
    assert (ROOT / "rules" / f"{name}.py").is_file()


def test_a_commit_stands_for_every_release() -> None:
    known = sorted(map(Version.parse, table("triage")["commits"].values()))
    lacking = {"1.9.3", "1.14.2", "1.14.3", "1.15.1"}  # their tags could not be read
    assert {str(release) for release in RELEASES} - {str(release) for release in known} == lacking
    assert known[0] == Version(0, 32, 0)  # who still runs one of these is told so, not taken for the newest
    assert release_of("7e06109") == release_of("7e06109-dirty") == Version(1, 0, 9)
    assert release_of("") is None


@pytest.mark.parametrize(
    ("error", "cause", "verdict"),
    [
        (
            "with fleet error(s), UnauthorizedOperation: no; InsufficientInstanceCapacity: no",
            "permission-refused",
            "stays",
        ),
        ("with fleet error(s), VcpuLimitExceeded: no (aws-error-code=UnfulfillableCapacity)", "quota", "unclear"),
        ('insufficient capacity, resolving nodeclass, EC2NodeClass "x" not found', "class-missing", "stays"),
        ("api error AuthFailure: Not authorized for images: [ami-1]", "image-not-shared", "stays"),
        ("NodeClassRef not ready, AMIsReady=Unknown", "class-reading", "passes"),
        ("NodeClassRef not ready, CapacityReservationsReady=False", "class-not-ready", "unclear"),
        ("NodeClassRef not ready, ValidationSucceeded=False, SubnetsReady=False", "subnets-empty", "stays"),
        ("Get https://ec2.eu-west-1.amazonaws.com: dial tcp 1.2.3.4:443: i/o timeout", "aws-unreachable", "unclear"),
        ("Get https://172.20.0.1:443/api: context deadline exceeded", "api-server-slow", "passes"),
        ("dial tcp 172.20.0.1:443: connect: connection refused", "api-server-refused", "unclear"),
        ("api error ThrottlingException: Rate exceeded", "throttled", "passes"),
        ("no instance type met the scheduling requirements or had a required offering", "pod-no-type", "stays"),
        ("no instance type had enough resources or had a required offering", "pod-no-room", "unclear"),
        (
            "no instance type which met requirements and had enough resources, had a required offering",
            "pod-offering",
            "unclear",
        ),
        ("no instance type met the requirements/resources/offering tuple", "pod-offering", "unclear"),
        (
            "failed to refresh cached credentials, failed to retrieve credentials, operation error STS: "
            "AssumeRoleWithWebIdentity, StatusCode: 403, api error AccessDenied: Not authorized to perform it",
            "role-not-assumed",
            "stays",
        ),
        (
            'creating instance profile, operation error IAM: GetInstanceProfile, Get "https://iam.amazonaws.com/": '
            "context deadline exceeded",
            "aws-unreachable",
            "unclear",
        ),
        ('retrieving spot pricing data, Post "https://x.amazonaws.com/": i/o timeout', "prices", "unclear"),
        (
            'custom resource "nodeclaims.karpenter.sh" isn\'t configured for webhook conversion',
            "conversion-missing",
            "stays",
        ),
        ("http: TLS handshake error from 10.214.2.206:34084: EOF", "tls-handshake", "passes"),
        (
            "http: TLS handshake error from 10.2.2.6:34084: remote error: tls: bad certificate",
            "conversion-webhook",
            "stays",
        ),
        (
            "nodeclaim is missing required labels (missingLabels=[topology.kubernetes.io/zone])",
            "cost-tracking",
            "passes",
        ),
        (
            "unsatisfiable topology constraint for topology spread, key=topology.kubernetes.io/zone",
            "pod-topology",
            "unclear",
        ),
        ("command reached timeout, nodeclaim not initialized (duration=10m0s)", "disruption-timeout", "unclear"),
        ("StorageError: invalid object, Code: 4, Precondition failed: UID in precondition: 1", "conflict", "passes"),
        ("Cannot exceed quota for InstanceProfilesPerAccount: 1000", "quota", "unclear"),
        ("validating ec2:CreateFleet authorization, api error Strange: no", "dry-run-failed", "unclear"),
        (
            "validating ec2:CreateFleet authorization, api error UnauthorizedOperation: no",
            "permission-refused",
            "stays",
        ),
    ],
)
def test_the_more_telling_cause_wins(error: str, cause: str, verdict: str) -> None:
    assert verdicts(triage(lines_of(line("failed launching nodeclaim", error)))) == {cause: verdict}


def test_lines_below_a_warning_count_only_where_they_tell_of_a_failure() -> None:
    messages = line("skipping, no resolved instance types found", level="INFO", NodePool={"name": "a"})
    idle = line("abandoning consolidation", "context deadline exceeded", level="DEBUG")
    assert verdicts(triage(lines_of(messages, idle))) == {"class-missing": "stays"}
    filtered = "skipping, nodepool requirements filtered out all instance types"
    why = {"minValuesIncompatibleErr": "minValues requirement is not met for label(s) (label(s)=[x])"}
    assert verdicts(triage(lines_of(line(filtered, level="INFO")))) == {"pool-empty": "stays"}
    assert verdicts(triage(lines_of(line(filtered, level="INFO", **why)))) == {"types-min-values": "stays"}
    # Far into a log too, where most lines are only glanced at.
    calm = lines_of(line("computed new nodeclaim(s) to fit pod(s)", level="INFO")) * 200
    assert verdicts(triage([*calm, *lines_of(messages)])) == {"class-missing": "stays"}


# With manifests beside it


@pytest.fixture
def judged(rules: dict[str, Rule]) -> Callable[[str], Triage]:
    def run(release: str) -> Triage:
        read = triage(io.BytesIO(log(release)))
        source = Source.from_text("manifests.yaml", (LOGS / "manifests.yaml").read_text(encoding="utf-8"))
        report = lint([source], LintRequest(Target(read.newest_release), rules))
        assert not report.faults
        return with_findings(read, report)

    return run


def test_the_finding_stands_with_the_error_that_it_explains(judged: Callable[[str], Triage]) -> None:
    read = judged("1.0.9")
    [group] = [g for g in read.groups if g.findings]
    assert group.cause and group.cause.id == "image-none-fits"
    # The lines name NodeClaims of the pool `graviton` alone; the other pool has the same fault and is not shown.
    assert {r.object.name for r in group.findings if r.object} == {"graviton"}
    text = triage_text(read, "-")
    assert "manifests.yaml:13:7: error[image-arch-mismatch]" in by_place(text)
    assert "+         - key: kubernetes.io/arch" in text
    found = triage_json(read, "-")
    SCHEMA.validate(found)
    [shown] = [g["findings"] for g in found["groups"] if g["findings"]]
    check_schema = json.loads((ROOT / "schemas" / "check.schema.json").read_text(encoding="utf-8"))
    for value in shown:
        jsonschema.validate(value, {**check_schema["$defs"]["finding"], "$defs": check_schema["$defs"]})


def test_a_finding_about_another_object_is_not_shown(judged: Callable[[str], Triage]) -> None:
    assert not any(g.findings for g in judged("1.14.1").groups)


def test_a_rule_that_could_not_look_for_want_of_facts_is_named(rules: dict[str, Rule]) -> None:
    failed = line("Reconciler error", "no subnets found", controllerKind="EC2NodeClass", name="hardened")
    other = failed.replace("hardened", "elsewhere")
    source = Source.from_text("manifests.yaml", (LOGS / "manifests.yaml").read_text(encoding="utf-8"))
    report = lint([source], LintRequest(Target(NEWEST), rules))
    [group] = with_findings(triage(lines_of(failed)), report).groups
    assert [rule for rule, _ in group.not_judged] == ["empty-selector"]
    text = triage_text(with_findings(triage(lines_of(failed)), report), "-")
    assert "empty-selector could not judge: " in text
    assert not with_findings(triage(lines_of(other)), report).groups[0].not_judged


def test_with_facts_the_rule_says_what_finds_nothing(rules: dict[str, Rule]) -> None:
    account = FakeAccount("subnets: [{id: subnet-1, zone: us-east-1a, tags: {karpenter.sh/discovery: another}}]")
    failed = line(
        "failed launching nodeclaim", "NodeClassRef not ready, SubnetsReady=False", NodeClaim={"name": "quiet-x7k2p"}
    )
    source = Source.from_text("manifests.yaml", (LOGS / "manifests.yaml").read_text(encoding="utf-8"))
    classes = [obj for obj in objects(source) if isinstance(obj, EC2NodeClass)]
    report = lint([source], LintRequest(Target(NEWEST, facts=account.facts(classes, NEWEST)), rules))
    [group] = with_findings(triage(lines_of(failed)), report).groups
    # The NodeClaim leads to its pool, and the pool to its class, which is where the fault is.
    assert {(r.rule.name, r.object.label if r.object else "") for r in group.findings} == {
        ("empty-selector", "EC2NodeClass/hardened")
    }


POOL = """
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: web}
spec:
  disruption: {consolidateAfter: 1m, budgets: [{nodes: "1", schedule: "0 9 * * *", duration: 1h}]}
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: web}
      requirements:
        - {key: kubernetes.io/arch, operator: In, values: [amd64]}
        - {key: karpenter.sh/capacity-type, operator: In, values: [spot]}
---
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: web}
spec:
  role: KarpenterNodeRole-main
  tags: {team: web}
  amiSelectorTerms: [{alias: bottlerocket@1.32.0-cacc4ce9}]
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
"""


@pytest.mark.parametrize(
    ("message", "error", "right", "wrong", "rule"),
    [
        (
            "Reconciler error",
            "validating tags, tags failed validation requirements",
            "team",
            "karpenter.sh/nodepool",
            "refused-combination",
        ),
        ("detected disruption budget errors", "invalid cron", "0 9", "61 9", "controller-check"),
        (
            "please correct found invalid values",
            "invalid values found for key",
            "[spot]",
            "[preemptible]",
            "unknown-value",
        ),
        (
            "skipping, no resolved instance types found",
            None,
            "EC2NodeClass, name: web",
            "EC2NodeClass, name: wbe",
            "unknown-node-class",
        ),
        (
            "skipping, nodepool requirements filtered out all instance types",
            None,
            "values: [amd64]",
            "values: ['*']",
            "wildcard-value",
        ),
        (
            "could not schedule pod",
            "minValues requirement is not met",
            "In, values: [amd64]",
            "Exists, minValues: 3",
            "too-few-values",
        ),
        (
            "Reconciler error",
            "AL2 aliases are no longer supported on EKS 1.33+",
            "bottlerocket@1.32.0-cacc4ce9",
            "al2@latest",
            "unsupported-alias",
        ),
    ],
)
def test_the_rules_that_are_named_do_find_it(
    rules: dict[str, Rule], message: str, error: str | None, right: str, wrong: str, rule: str
) -> None:
    name = {"name": "web"}
    read = triage(lines_of(line(message, error, commit="bde0065", NodePool=name, EC2NodeClass=name)))
    for text, want in ((POOL, False), (POOL.replace(right, wrong), True)):
        assert want == (text != POOL)
        report = lint(
            [Source.from_text("web.yaml", text)], LintRequest(Target(NEWEST, KubernetesVersion(1, 33)), rules)
        )
        [group] = with_findings(read, report).groups
        assert group.cause and rule in group.rules, group.title
        assert (rule in {r.rule.name for r in group.findings}) is want


# The command

Run = Callable[..., subprocess.CompletedProcess[str]]


def test_the_command_reads_a_file_or_standard_input(nodelint: Run) -> None:
    path = LOGS / "controller-1.14.1.log"
    by_path = nodelint("triage", str(path))
    by_stdin = nodelint("triage", stdin=path.read_text(encoding="utf-8"))
    assert (by_path.returncode, by_stdin.returncode) == (1, 1), by_path.stderr
    assert by_path.stdout.partition("\n")[2] == by_stdin.stdout.partition("\n")[2]
    assert by_stdin.stdout.startswith("standard input: ")
    assert "\x1b" not in by_path.stdout


def test_the_commands_exit_code_is_0_where_everything_passes(nodelint: Run) -> None:
    done = nodelint("triage", "-", stdin=line("x", "api error RequestLimitExceeded: no") + "\n")
    assert done.returncode == 0, done.stderr
    assert "1 cause: 1 that passes by itself." in done.stdout
    calm = nodelint("triage", "-", stdin=line("Starting workers", level="INFO") + "\n")
    assert (calm.returncode, calm.stdout.splitlines()[-1]) == (0, "No failures.")


def test_the_command_refuses_what_it_cannot_use(nodelint: Run, tmp_path: Path) -> None:
    no_log = nodelint("triage", "-", stdin="hello\n")
    assert (no_log.returncode, no_log.stdout) == (2, "")
    assert no_log.stderr == (
        "nodelint: standard input holds no line of a Karpenter controller's log, and no event or condition that "
        "Karpenter wrote; `kubectl logs` of the controller, or `kubectl get events -A`, prints what triage reads\n"
    )
    missing = nodelint("triage", "no.log")
    assert (missing.returncode, missing.stderr) == (2, "nodelint: no.log: no such file or directory\n")
    assert nodelint("triage", str(tmp_path)).returncode == 2
    empty = nodelint("triage", str(LOGS / "controller-1.6.8.log"), "--manifests", str(tmp_path))
    assert (empty.returncode, empty.stderr) == (
        1,
        "nodelint: no NodePool or EC2NodeClass in 0 files of --manifests\n",
    )
    no_manifest = nodelint("triage", str(LOGS / "controller-1.6.8.log"), "--manifests", "no.yaml")
    assert no_manifest.returncode == 2
    assert "STAYS" in no_manifest.stdout


def test_the_command_shows_findings_of_the_manifests(nodelint: Run) -> None:
    done = nodelint("triage", str(LOGS / "controller-1.0.9.log"), "--manifests", str(LOGS), "--format", "json")
    assert done.returncode == 1, done.stderr
    found = json.loads(done.stdout)
    SCHEMA.validate(found)
    assert {f["rule"] for g in found["groups"] for f in g["findings"]} == {"image-arch-mismatch"}


def test_the_page_shows_what_the_command_prints(nodelint: Run) -> None:
    page = (ROOT / "docs" / "triage.md").read_text(encoding="utf-8")
    shown = page.split("```console\n$ nodelint ", 1)[1].split("```", 1)[0]
    command, _, output = shown.partition("\n")
    done = nodelint(*command.split(), cwd=ROOT)
    parts = [part.strip("\n") for part in output.split("\n…\n")]
    assert all(part in done.stdout for part in parts), done.stdout


def test_what_no_terminal_could_show_is_escaped(nodelint: Run) -> None:
    text = line("odd \ud800 \x1b[31m \u202e", "x\x07", NodePool={"name": "\ud800\x1b"})
    for form in ("text", "json"):
        done = nodelint("triage", "--format", form, stdin=text)
        assert done.returncode == 0, done.stderr
        assert not set(done.stdout) & set("\x1b\x07\u202e")
