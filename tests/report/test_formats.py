"""Each format over one report: what it looks like, and that the tools it is made for can read it."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote
from xml.etree import ElementTree as ET

import pytest
from jsonschema.validators import validator_for
from junitparser import Error, Failure, JUnitXml, Skipped
from syrupy.assertion import SnapshotAssertion

from nodelint.base import project
from nodelint.base.printable import printable
from nodelint.edits import apply
from nodelint.lint import engine
from nodelint.lint.engine import LintRequest, Report, Selection, Target, lint
from nodelint.lint.fingerprints import fingerprints
from nodelint.model.documents import objects
from nodelint.model.finding import SEVERITIES, Also, Edit, Finding, Severity, Span
from nodelint.model.gap import gap_of
from nodelint.model.releases import KubernetesVersion
from nodelint.model.releases import target as parse_target
from nodelint.report import github, gitlab, html, junit, markdown, sarif
from nodelint.report.grouping import entries
from nodelint.report.run_info import Basis, Run
from nodelint.rule.definition import Rule
from nodelint.text import Source
from tests.manifests import nodeclass

# Line breaks of Windows, a list in two styles, a bar in a value, letters beyond ASCII.
POOLS = """\
# Größen für die Produktion
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: größe
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: defualt}
      requirements:
        - key: karpenter.k8s.aws/instance-family
          operator: In
          values: ["*"]
        - key: kubernetes.io/arch
          operator: In
          values: ["amd64"]
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: "flex"
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        - {key: karpenter.k8s.aws/instance-family, operator: In, values: ["c7i-flex", "*"]}
        - {key: kubernetes.io/arch, operator: In, values: ["amd|64"]}
""".replace("\n", "\r\n")

CLASS = """\
\ufeffapiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: default}
spec:
  role: KarpenterNodeRole-main
  amiSelectorTerms: [{alias: al2023@v20250807}]
  # nodelint: ignore[wildcard-value] nothing here
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
  detailedMonitorin: true
"""

TEMPLATE = """\
apiVersion: karpenter.sh/v1
kind: NodePool
spec:
{{- if .Values.x }}
  x: [
{{- end }}
"""

CLEAN = nodeclass(name="clean", ami="alias: al2023@v20250807", inline=True)

RULES = ["wildcard-value", "flex-preference", "unknown-node-class", "unknown-value", "unknown-field", "yaml-syntax"]
FILES = {
    "clusters/prod/pools.yaml": POOLS,
    "clusters/Größe #1.yaml": CLASS,
    "charts/pool.yaml": TEMPLATE,
    "clean.yaml": CLEAN,
    "-": "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: [x\n",
}
UNREADABLE = [("clusters/sécret.yaml", "permission denied"), ("/etc/pools.yaml", "no such file or directory")]


@pytest.fixture(scope="module")
def sources() -> list[Source]:
    return [Source.from_text(path, text) for path, text in FILES.items()]


@pytest.fixture(scope="module")
def report(sources: list[Source], rules: dict[str, Rule]) -> Report:
    target = Target(parse_target("1.14.1"), KubernetesVersion.parse("1.33"))
    found = lint(sources, LintRequest(target, rules, Selection(frozenset([*RULES, "unused-suppression"]))))
    skip = gap_of("unpinned-image", "", None, "no facts are known: `nodelint refresh` asks for them")
    pool = next(o for source in sources for o in objects(source))
    skips = [skip, gap_of("image-arch-mismatch", pool.source.path, pool, "the class is not available")]
    fault = "internal error, please report it: some-rule on NodePool/x: KeyError: 'a'"
    return found._replace(skipped=(*found.skipped, *skips), faults=(fault,))


@pytest.fixture(scope="module")
def run(report: Report) -> Run:
    refused = [(report.results[0], "the file would no longer parse")]
    return Run(7, Basis("Karpenter v1.14.1", "2026-07-11", 1363), UNREADABLE, report.results[:2], refused)


@pytest.fixture
def empty() -> Report:
    return Report((), (), (), Target(parse_target("1.14.1")))


FORMATS = [sarif, github, gitlab, junit, markdown, html]
HOSTILE = "a|b `x|y` <img src=x> [l](http://e) ::error::e %0A ##[error]e {0} \x1b[31m ]]> & _e_ `` \udc80"


def _folded(value: Any, indent: str = "", key: str = "") -> str:
    """JSON to review: what fits a line stands on one."""
    whole = f"{indent}{key}{json.dumps(value, ensure_ascii=False)}"
    if len(whole) <= 118 or not isinstance(value, (dict, list)):
        return whole
    more = indent + " "
    if isinstance(value, dict):
        parts = [_folded(value, more, f"{json.dumps(name)}: ") for name, value in value.items()]
    else:
        parts = [_folded(value, more) for value in value]
    begin, end = "{}" if isinstance(value, dict) else "[]"
    return "\n".join([f"{indent}{key}{begin}", ",\n".join(parts), f"{indent}{end}"])


@pytest.mark.parametrize("module", FORMATS, ids=lambda m: m.__name__.rpartition(".")[2])
def test_what_it_looks_like(module: Any, report: Report, run: Run, snapshot: SnapshotAssertion) -> None:
    text = module.render(report, run)
    assert text == module.render(report, run)
    if module is sarif:  # a rule's page is held to by its own test
        log = json.loads(text)
        for rule in log["runs"][0]["tool"]["driver"]["rules"]:
            rule["help"] = rule["fullDescription"] = "…"
        log["runs"][0]["tool"]["driver"]["version"] = log["runs"][0]["tool"]["driver"]["semanticVersion"] = "…"
        text = json.dumps(log, ensure_ascii=False)
    if module is html:  # one element a line; the style is looked at, not compared
        text = re.sub(r"<(style|script)>.*?</\1>", "", text, flags=re.DOTALL)
        text = re.sub(r"(?<=>)(?=<(?:article|section|h[1-3]|tr|p|pre|ul|li))", "\n", text)
    assert (_folded(json.loads(text)) if text.startswith(("{", "[")) else text) == snapshot


def test_the_report_holds_what_the_formats_have_to_carry(report: Report) -> None:
    assert {r.severity for r in report.results} >= {"error", "warning"}
    assert {r.safety for r in report.results if r.fixable} == {"safe", "unsafe"}
    assert any(r.finding.also for r in report.results) and any(r.finding.help for r in report.results)
    assert any(r.object is None for r in report.results)


def _result(report: Report, message: str, path: str = "a.yaml", **more: Any) -> Report:
    """A report of one finding."""
    source = Source.from_text(path, CLEAN)
    (obj,) = objects(source)
    found = report.results[0]._replace(finding=Finding(obj.name_node, message, **more), object=obj)
    return report._replace(results=(found,), skipped=(), objects=(obj,), faults=())


@pytest.mark.parametrize("module", FORMATS, ids=lambda m: m.__name__.rpartition(".")[2])
def test_an_empty_report_is_a_document(module: Any, empty: Report) -> None:
    text = module.render(empty, Run(0))
    if module is sarif:
        (run,) = json.loads(text)["runs"]
        assert run["results"] == [] and run["tool"]["driver"]["rules"] == []
        assert run["invocations"] == [{"executionSuccessful": True, "toolExecutionNotifications": []}]
    elif module is gitlab:
        assert json.loads(text) == []
    elif module is junit:  # without a test Jenkins takes a report for a mistake
        assert [case.name for suite in JUnitXml.fromstring(text.encode()) for case in suite] == ["nothing to check"]
    elif module is html:
        assert "Nothing to check: there is no file that nodelint reads." in text
    else:
        assert "nothing to check: there is no file that nodelint reads" in text and text.count("\n") == 1


@pytest.mark.parametrize("module", FORMATS, ids=lambda m: m.__name__.rpartition(".")[2])
def test_whatever_a_manifest_says_leaves_the_document_whole(module: Any, report: Report) -> None:
    name = "a,b:c|`d`<e> \udcff.yaml"
    text = module.render(_result(report, HOSTILE, name, help=HOSTILE), Run(1, unreadable=[(name, HOSTILE)]))
    assert text.encode().decode() == text
    assert not re.search("[\x00-\x09\x0b-\x1f]", text)
    if module is junit:
        (failure,) = [r for suite in JUnitXml.fromstring(text.encode()) for case in suite for r in case.result][1:]
        assert failure.message.startswith("a|b `x|y` <img src=x> [l](http://e)")
    elif module is markdown:
        row = next(line for line in text.splitlines() if line.startswith("| warning"))
        assert len(re.split(r"(?<!\\)\|", row)) == 6
        outside = re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", row)
        assert "<img" not in outside and "](http://e" not in outside.replace(r"\[l\](http://e", "")
    elif module is github:
        unreadable, found = _commands(text)
        assert unreadable[1]["file"] == found[1]["file"] == name.replace("\udcff", "\ufffd")
        assert unreadable[2] == f"not read: {printable(HOSTILE)}"
        assert found[2] == f"{printable(HOSTILE)}\nhelp: {printable(HOSTILE)}"
    elif module is html:
        plain = module.render(_result(report, "b `c`", help="b `c`"), Run(1, (), [("a", "b")]))
        assert set(_elements(text)) == set(_elements(plain))
        assert "&lt;img src=x&gt;" in text
    else:
        assert "::error::e %0A" in json.dumps(json.loads(text))


def _elements(page: str) -> list[str]:
    """The elements of a page with their attributes, but for links and anchors, which hold paths."""
    found: list[str] = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            found.append(" ".join([tag, *(f"{name}={value}" for name, value in attrs if name not in ("id", "href"))]))

    Reader(convert_charrefs=True).feed(page)
    return found


def test_html_needs_no_network_and_has_every_finding(report: Report, run: Run) -> None:
    page = html.render(report, run)
    assert not any(" src=" in element or element.startswith("link") for element in _elements(page))
    assert "default-src 'none'" in page
    assert page.count("<article ") == len(entries(report.results))
    anchors = set(re.findall(r'href="#([^"]+)"', page))
    assert anchors and anchors <= set(re.findall(r'id="([^"]+)"', page))
    for path, why in UNREADABLE:
        assert f"Not read: {path}: {why}." in page


def test_sarif_is_what_the_standard_asks_for(report: Report, run: Run, empty: Report) -> None:
    """NODELINT_SARIF_SCHEMA names a copy of the standard's own schema, sarif-schema-2.1.0.json."""
    path = os.environ.get("NODELINT_SARIF_SCHEMA")
    if not path:
        pytest.skip("NODELINT_SARIF_SCHEMA names no schema")
    schema = json.loads(Path(path).read_text(encoding="utf-8"))
    validator = validator_for(schema)(schema)
    hostile = _result(report, HOSTILE, "a b\udcff.yaml")
    for entry, around in ((report, run), (empty, Run(0)), (hostile, Run(1))):
        assert [e.message for e in validator.iter_errors(json.loads(sarif.render(entry, around)))] == []


def test_links_lead_to_the_projects_address_where_there_is_one(
    report: Report, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = json.loads(sarif.render(report, run))["runs"][0]["tool"]["driver"]
    assert "informationUri" not in plain and not any("helpUri" in rule for rule in plain["rules"])
    assert "https://" not in markdown.render(report, run)
    monkeypatch.setattr(project, "HOME", "https://github.com/somebody/nodelint")
    linked = json.loads(sarif.render(report, run))["runs"][0]["tool"]["driver"]
    assert linked["informationUri"] == project.HOME
    for rule in linked["rules"]:
        if rule["id"] == "unreadable":
            continue  # it has no page
        assert rule["helpUri"] == f"{project.HOME}/blob/main/docs/rules/{rule['id']}.md"
        assert f"[{rule['id']}]({rule['helpUri']})" in markdown.render(report, run)


def test_sarif_names_its_rules_and_places(report: Report, run: Run) -> None:
    log = json.loads(sarif.render(report, run))
    assert (log["version"], len(log["runs"])) == ("2.1.0", 1)
    driver, results = log["runs"][0]["tool"]["driver"], log["runs"][0]["results"]
    *rules, unread = driver["rules"]
    assert [rule["id"] for rule in rules] == sorted({r.rule.name for r in report.results})
    assert unread["id"] == results[-1]["ruleId"] == "unreadable"
    results = [result for result in results if result["ruleId"] != "unreadable"]
    for rule in rules:
        assert 0 < len(rule["fullDescription"]["text"]) <= 1000 and "yaml bad" in rule["help"]["markdown"]
    marks = [result["partialFingerprints"]["nodelint/v1"] for result in results]
    assert marks == fingerprints(report.results) and len(set(marks)) == len(marks)
    for expected, result in zip(results, report.results, strict=True):
        assert driver["rules"][expected["ruleIndex"]]["id"] == expected["ruleId"] == result.rule.name
        place = expected["locations"][0]["physicalLocation"]
        assert unquote(place["artifactLocation"]["uri"]) == result.span.source.path.replace("-", "stdin", 1)
        assert place["artifactLocation"]["uri"].isascii() and place["artifactLocation"]["uriBaseId"] == "%SRCROOT%"
        text = _characters(result.span.source)
        start, end = (_offset(text, place["region"], side) for side in ("start", "end"))
        assert text[start:end] == result.span.source.text[result.span.start : result.span.end]
        related = [place["message"]["text"] for place in expected.get("relatedLocations", [])]
        assert related == [also.message for also in result.finding.also]
        assert ("fixes" in expected) == result.fixable
    assert {
        tuple(r["locations"][0]["logicalLocations"][0].values())
        for r in results
        if r["ruleId"] == "unknown-node-class"
    } == {("NodePool", "NodePool/größe", "größe")}


def _characters(source: Source) -> str:
    return source.text.removeprefix("\ufeff")


def _offset(text: str, region: dict[str, int], side: str) -> int:
    breaks = [0, *(match.end() for match in re.finditer("\r\n|\n|\r", text))]
    return breaks[region[f"{side}Line"] - 1] + region[f"{side}Column"] - 1


@pytest.mark.parametrize("by", ["offset", "line"])
def test_a_fix_taken_from_sarif_is_the_fix(report: Report, run: Run, by: str) -> None:
    results = json.loads(sarif.render(report, run))["runs"][0]["results"]
    results = [result for result in results if result["ruleId"] != "unreadable"]
    fixable = 0
    for expected, result in zip(results, report.results, strict=True):
        offered = [edits for edits in (result.finding.edits, *(s.edits for s in result.finding.suggestions)) if edits]
        changes = [c for fix in expected.get("fixes", []) for c in fix["artifactChanges"]]
        for change, edits in zip(changes, offered, strict=True):
            fixable += 1
            before = text = _characters(result.span.source)
            for replacement in reversed(change["replacements"]):
                region = replacement["deletedRegion"]
                start, end = region["charOffset"], region["charOffset"] + region["charLength"]
                if by == "line":
                    start, end = _offset(before, region, "start"), _offset(before, region, "end")
                text = text[:start] + replacement.get("insertedContent", {"text": ""})["text"] + text[end:]
            assert text == apply(result.span.source.text, edits).removeprefix("\ufeff")
    assert fixable >= 5


@pytest.mark.parametrize(
    ("path", "uri", "based"),
    [
        ("clusters/a b.yaml", "clusters/a%20b.yaml", True),
        ("{root}/clusters/a:b.yaml", "clusters/a%3Ab.yaml", True),
        ("../other/100%.yaml", "file://{parent}/other/100%25.yaml", False),
        ("/etc/#pools.yaml", "file:///etc/%23pools.yaml", False),
        ("-", "stdin", True),
    ],
)
def test_sarif_leads_to_files_wherever_they_are(
    path: str, uri: str, based: bool, report: Report, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names = {"root": str(tmp_path), "parent": str(tmp_path.parent)}
    log = json.loads(sarif.render(_result(report, "`x` is wrong", path.format(**names)), Run(1)))
    artifact = log["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]
    assert artifact["uri"] == uri.format(**names)
    assert ("uriBaseId" in artifact) == based


def test_paths_are_seen_from_the_root_that_is_named(report: Report, tmp_path: Path) -> None:
    found = _result(report, "`x` is wrong", str(tmp_path / "clusters" / "a.yaml"))
    run = Run(1, root=str(tmp_path))
    assert json.loads(gitlab.render(found, run))[0]["location"]["path"] == "clusters/a.yaml"
    assert "::warning file=clusters/a.yaml,line=3," in github.render(found, run)
    assert "`clusters/a.yaml:3`" in markdown.render(found, run)
    assert 'classname="clusters/a.yaml"' in junit.render(found, run)
    sarif_uri = json.loads(sarif.render(found, run))["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
    assert sarif_uri["artifactLocation"]["uri"] == "clusters/a.yaml"


def test_braces_are_no_arguments_in_sarif(report: Report) -> None:
    log = json.loads(sarif.render(_result(report, "`{0}` is wrong"), Run(1)))
    assert log["runs"][0]["results"][0]["message"] == {"text": "`{{0}}` is wrong"}


def _commands(text: str) -> list[tuple[str, dict[str, str], str]]:
    """The workflow commands of a log, read as GitHub's runner reads them."""

    def unescaped(text: str, *more: str) -> str:
        for character in ("\r", "\n", *more, "%"):
            text = text.replace(f"%{ord(character):02X}", character)
        return text

    found = []
    for line in text.split("\n"):
        assert "##[" not in line or line.startswith("::")  # the older form, which may begin anywhere
        if line.lstrip().startswith("::"):
            head, _, data = line.lstrip()[2:].partition("::")
            name, _, rest = head.partition(" ")
            pairs = [pair.partition("=") for pair in rest.split(",") if pair]
            found.append((name, {key: unescaped(value, ":", ",") for key, _, value in pairs}, unescaped(data)))
    return found


def test_github_reads_every_command_back(report: Report, run: Run) -> None:
    commands = _commands(github.render(report, run))
    messages = [(level, properties.get("file"), data.partition("\n")[0]) for level, properties, data in commands]
    levels = {"error": "error", "warning": "warning", "info": "notice"}
    results = [r for severity in SEVERITIES for r in report.results if r.severity == severity]
    assert messages[:3] == [
        ("error", "clusters/sécret.yaml", "not read: permission denied"),
        ("error", "/etc/pools.yaml", "not read: no such file or directory"),
        ("error", None, "internal error, please report it: some-rule on NodePool/x: KeyError: 'a'"),
    ]
    for (level, file, message), (_, properties, _), result in zip(messages[3:], commands[3:], results, strict=True):
        at = result.span.source.position(result.span.start)
        assert level == levels[result.severity] and result.finding.message in message
        if result.span.source.path == "-":
            assert file is None and message.startswith(f"-:{at.line}:{at.column}: ")
        else:
            assert file == result.span.source.path
            assert (properties["line"], properties["col"]) == (str(at.line), str(at.column))
        assert properties["title"] == f"nodelint {result.rule.name}"


def test_github_commands_hold_what_would_end_them(report: Report) -> None:
    name = "a,b:c%2C\n.yaml"
    ((level, properties, data),) = _commands(github.render(_result(report, "50% `::` of, all", name), Run(1)))
    assert (level, properties["file"], data) == ("warning", name, "50% `::` of, all")
    refused = [(report.results[0], "##[error]no")]
    assert _commands(github.render(_result(report, "x"), Run(1, refused=refused)))[0][2] == "x"


def test_github_says_that_it_shows_ten(report: Report) -> None:
    many = report._replace(results=report.results[:1] * 11)
    assert github.render(many, Run(1)).endswith("GitHub shows 10 annotations of each level; all are in this log.\n")
    assert "GitHub shows" not in github.render(report, Run(1))


def test_gitlab_finds_what_it_requires(report: Report, run: Run) -> None:
    rows = json.loads(gitlab.render(report, run))
    assert len(rows) == len(report.results) + len(UNREADABLE)
    for row in rows:
        assert set(row) == {"description", "check_name", "fingerprint", "severity", "location"}
        assert row["severity"] in {"info", "minor", "major", "critical", "blocker"}
        assert 1 <= row["location"]["lines"]["begin"] <= row["location"]["lines"]["end"]
        assert not row["location"]["path"].startswith("./")
    assert len({row["fingerprint"] for row in rows}) == len(rows)


ATTRIBUTES = {
    "testsuites": {"name", "time", "tests", "failures", "errors"},
    "testsuite": {"name", "tests", "failures", "errors", "skipped", "time", "file"},
    "testcase": {"name", "classname", "time"},
    "failure": {"type", "message"},
    "error": {"type", "message"},
    "skipped": {"type", "message"},
    "system-out": set(),
}


def test_junit_is_read_by_others(report: Report, run: Run) -> None:
    text = junit.render(report, run)
    for element in ET.fromstring(text).iter():
        assert set(element.attrib) <= ATTRIBUTES[element.tag]
        if element.tag == "testcase":
            assert {child.tag for child in element} <= {"failure", "error", "skipped", "system-out"}
    suites = list(JUnitXml.fromstring(text.encode()))
    cases = [case for suite in suites for case in suite]
    kinds = [type(result) for case in cases for result in case.result]
    assert kinds.count(Failure) == sum(suite.failures for suite in suites) == len(report.results)
    assert kinds.count(Error) == sum(suite.errors for suite in suites) == len(UNREADABLE) + 1
    assert kinds.count(Skipped) == sum(suite.skipped for suite in suites) == len(report.skipped)
    assert sum(suite.tests for suite in suites) == len(cases)
    assert len({(case.classname, case.name) for case in cases}) == len(cases)
    assert [case.name for case in cases if case.is_passed] == ["EC2NodeClass/clean"]


def test_tests_of_one_name_are_numbered(report: Report) -> None:
    """Of several of one name GitLab keeps the first."""
    found = _result(report, "`x` is wrong")
    text = junit.render(found._replace(results=found.results * 3), Run(1))
    names = [case.name for suite in JUnitXml.fromstring(text.encode()) for case in suite]
    first = "unknown-node-class EC2NodeClass/clean metadata.name"
    assert names == [first, f"{first} (2)", f"{first} (3)"]


def test_an_info_fails_no_test(report: Report) -> None:
    text = junit.render(_result(report, "`x` could be better", severity="info"), Run(1))
    ((case,),) = JUnitXml.fromstring(text.encode())
    assert case.is_passed and "`x` could be better" in case.system_out


def test_markdown_stays_below_what_a_comment_holds(report: Report) -> None:
    source = Source.from_text("a.yaml", CLEAN)
    (obj,) = objects(source)
    node = obj.name_node
    edit = Edit(source, node.start, node.end, "other")

    def make_result(number: int) -> engine.Result:
        severity: Severity = "error" if number == 2999 else "info"
        finding = Finding(node, f"`{number}` is wrong", severity=severity, edits=[edit], also=[Also(node, "here")])
        return engine.Result(report.results[0].rule, finding, obj)

    many = report._replace(results=tuple(make_result(n) for n in range(3000)), objects=(obj,))
    text = markdown.render(many, Run(1))
    assert len(text) <= markdown.MOST == 65_536
    rows = sum(line.startswith(("| error", "| info")) for line in text.splitlines())
    fixes = text.count("<details>")
    assert rows > 100 and fixes > 20 and "`2999` is wrong" in text
    assert f"… and {3000 - rows:,} more findings: `nodelint check` lists all." in text
    assert f"… and {3000 - fixes:,} more: `nodelint check --diff` shows all." in text


def test_one_long_line_leaves_room_for_the_rest(report: Report) -> None:
    source = Source.from_text("a\n|b.yaml", CLEAN.replace("metadata", f"# {'x' * 100_000}\nmetadata"))
    (obj,) = objects(source)
    node = obj.name_node
    finding = Finding(node, "`x` is wrong", edits=[Edit(source, node.start, node.end, "other")])
    found = report._replace(results=(report.results[0]._replace(finding=finding, object=obj),), objects=(obj,))
    text = markdown.render(found, Run(1))
    assert len(text) < 5_000 and "+metadata: {name: other}" in text
    assert "| `a\\n\\|b.yaml:4` |" in text


def test_a_fence_is_longer_than_any_in_the_fix(report: Report) -> None:
    source = Source.from_text("a.yaml", CLEAN)
    (obj,) = objects(source)
    node = obj.name_node
    found = _result(report, "x", edits=[Edit(source, node.start, node.end, "````x")])
    text = markdown.render(found, Run(1))
    assert "\n`````diff\n" in text and text.count("`````") == 2
    assert "+metadata: {name: ````x}" in text


@pytest.mark.parametrize(("places", "end"), [(11, ", 11 |"), (12, ", 11 and 1 more |")])
def test_markdown_names_eleven_lines_of_a_file(report: Report, places: int, end: str) -> None:
    source = Source.from_text("a.yaml", "a: b\n" * places)
    result = report.results[0]
    found = [
        result._replace(finding=Finding(Span(source, at * 5, at * 5 + 1), "`x` is wrong"), object=None)
        for at in range(places)
    ]
    text = markdown.render(report._replace(results=tuple(found)), Run(1))
    (row,) = (line for line in text.splitlines() if "`a.yaml:1`" in line)
    assert end in row.replace(f" | [{result.rule.name}]", " |").replace(f" | {result.rule.name}", " |")


def test_markdown_tells_one_cause_once_with_its_places(
    nodelint: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    for name in "abcdefg":
        pool = 'apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: a}\nspec: {weight: "1"}\n'
        (tmp_path / f"{name}-pool.yaml").write_text(pool, "utf-8")
    output = nodelint("check", "--format", "markdown", "--select", "invalid-field").stdout
    rows = [line for line in output.splitlines() if line.startswith("| error")]
    [row] = [row for row in rows if "`weight` must be" in row]
    assert row.count(".yaml:4`") == 5 and "<br>… and 2 more files |" in row and "(in 7 objects of 7 files)" in row
    assert output.count("<details>") == 1 and "the same in 6 more places" in output
