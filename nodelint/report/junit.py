"""Findings as JUnit XML, which Jenkins, GitLab and others show as tests.

A file is a test suite and a finding a failed test. An object without findings is a passed test, because Jenkins
treats an empty report as an error. Elements and attributes are those of Jenkins' xUnit plugin (junit-10.xsd).
"""

from __future__ import annotations

import re
from collections import Counter
from xml.etree import ElementTree as ET

from nodelint.base.printable import printable, screened, writable
from nodelint.lint.engine import Report, Result
from nodelint.lint.fingerprints import field
from nodelint.model.gap import Gap
from nodelint.report.all_clear import NOTHING_CHECKED
from nodelint.report.run_info import Run, shown_path, unread_place
from nodelint.report.text import finding_text

_WHOLE_RUN = "nodelint"
_ILLEGAL = "[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"


def render(report: Report, run: Run) -> str:
    """Return the XML document.

    Errors and warnings are failures; an info is a passed test with the message as its output.
    """
    suites = _Suites()
    judged_ids = {id(result.object) for result in report.issues}
    judged_ids |= {id(skip.object) for skip in report.skipped}
    for result in report.issues:
        _finding(suites, result, run)
    for obj in report.objects:
        if id(obj) not in judged_ids:
            suites.case(shown_path(obj.source.path, run.root), obj.label)
    for skip in report.skipped:
        _skip(suites, skip, run)
    for path, why in run.unreadable:
        file, line = unread_place(path)
        name = "read" if line is None else f"read line {line}"
        error = ET.SubElement(suites.case(shown_path(file, run.root), name), "error", type="unreadable")
        error.set("message", _legal(printable(why)))
    for fault in report.faults:
        error = ET.SubElement(suites.case(_WHOLE_RUN, "fault"), "error", type="fault")
        error.set("message", _legal(printable(fault)))
    if not suites.cases:
        suites.case(_WHOLE_RUN, NOTHING_CHECKED)
    return suites.text()


class _Suites:
    def __init__(self) -> None:
        self.cases: dict[str, dict[str, ET.Element]] = {}
        self.seen: Counter[tuple[str, str]] = Counter()

    def case(self, suite: str, name: str) -> ET.Element:
        """Add a test and return it. Names are made unique, because readers keep only the first test of a name."""
        suite, name = _legal(printable(suite)), _legal(printable(name))
        cases = self.cases.setdefault(suite, {})
        unique = name
        while unique in cases:
            self.seen[suite, name] += 1
            unique = f"{name} ({self.seen[suite, name] + 1})"
        cases[unique] = ET.Element("testcase", name=unique, classname=suite, time="0")
        return cases[unique]

    def text(self) -> str:
        root = ET.Element("testsuites", name=_WHOLE_RUN)
        for name in sorted(self.cases):
            suite = ET.SubElement(root, "testsuite", name=name)
            suite.extend(self.cases[name].values())
            _count(suite, "tests", "failures", "errors", "skipped")
        _count(root, "tests", "failures", "errors")
        ET.indent(root)
        body = ET.tostring(root, encoding="unicode", short_empty_elements=True)
        return screened(writable(f'<?xml version="1.0" encoding="UTF-8"?>\n{body}\n'))


def _count(element: ET.Element, *names: str) -> None:
    tags = {"tests": "testcase", "failures": "failure", "errors": "error", "skipped": "skipped"}
    for name in names:
        element.set(name, str(sum(1 for _ in element.iter(tags[name]))))


def _finding(suites: _Suites, result: Result, run: Run) -> None:
    what = [result.rule.name, result.object.label if result.object else "", field(result)]
    case = suites.case(shown_path(result.span.source.path, run.root), " ".join(filter(None, what)))
    if result.severity == "info":
        output = ET.SubElement(case, "system-out")
    else:
        output = ET.SubElement(case, "failure", type=result.severity)
        output.set("message", _legal(printable(result.message)))
    output.text = _legal(finding_text(result))


def _skip(suites: _Suites, skip: Gap, run: Run) -> None:
    suite = shown_path(skip.path, run.root) if skip.path else _WHOLE_RUN
    what = [skip.rule or "read", skip.object.label if skip.object else ""]
    output = ET.SubElement(suites.case(suite, " ".join(filter(None, what))), "skipped")
    output.set("message", _legal(printable(skip.reason)))


def _legal(text: str) -> str:
    return re.sub(_ILLEGAL, "", writable(text))
