"""Read text copied from a terminal: tables of kubectl, `kubectl describe`, and bare messages."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from nodelint.triage.causes import recognise
from nodelint.triage.kubectl_objects import KINDS, conditions_of, event, kind_of_condition
from nodelint.triage.logs import LogLine

# A longer text that no form fits is some other program's.
_MOST_BARE = 20

_AGE = r"(?:<unknown>|<invalid>|\d[\dsmhdy]*+)(?: ago)?(?: \(x(\d+) over [^)]{1,80}\))?"
_ROW = re.compile(rf"(?:([a-z0-9][\w.-]*+)\s++)?{_AGE}\s++(Normal|Warning)\s++(\w+)\s++(\w+)/([\w.-]+)\s++(.*)")
_DESCRIBED = re.compile(rf"\s++(Normal|Warning)\s++(\w+)\s++{_AGE}\s++(\S++)\s++(.*)")
_AFTER_MESSAGE = re.compile(r"(.*?)(?<!\s)\s{2,}+\S++\s{2,}+(\d++)\s{2,}+\S++\s*+")
_HEADING = re.compile(r"(?>.*?\bREASON\b).*\bMESSAGE\b")
_KEY = re.compile(r"(\s*+)([A-Z][\w /.-]*+):(?:\s++(.*))?$")
_STRUCTURED = re.compile(r"""^\s*[{\["]|\b(?:msg|level|lvl)=|^(?!panic: )[\w./-]+: [\w{\["]""")
# What Terraform frames an error with, and what it, helm and kubectl begin one with.
_FRAME = re.compile(r"^[\s│╷╵]*(?:[Ee]rror: )?")


def of_text(lines: Iterable[str]) -> tuple[list[LogLine], int, bool]:
    """Return the events, conditions and messages in a text, the number of unused lines, and whether anything is
    Karpenter's.
    """
    rows = [(number, line.rstrip()) for number, line in enumerate(lines, 1) if line.strip()]
    found = _columns(rows)
    if found:
        headings = sum(_HEADING.match(line) is not None for _, line in rows)
        return found, len(rows) - len({entry.number for entry in found}) - headings, True
    described = _Described()
    for number, line in rows:
        described.take(number, line)
    if described.found or described.seen or any(_ROW.fullmatch(line) for _, line in rows):
        return described.found, 0, described.seen or bool(described.found)
    pieces = _conditions_alone(rows) + _events_alone(rows)
    if pieces:
        return pieces, 0, True
    messages, unread = _bare(rows)
    return messages, unread, bool(messages)


_TABLES = {
    "NODECLASS": "nodepools",
    "CAPACITY": "nodeclaims",
    "RESTARTS": "pods",
    "ROLES": "nodes",
    "READY": "ec2nodeclasses",
}
"""Columns of tables of `kubectl get`, each with the kind of the table. The first column that is present decides."""


def find_table(lines: Iterable[str]) -> str | None:
    """Return the kind whose `kubectl get` table a text begins with. None if it begins with no such table."""
    heading = next((line.split() for line in lines if line.strip()), [])
    if heading[:1] not in (["NAME"], ["NAMESPACE"]) or "AGE" not in heading or "MESSAGE" in heading:
        return None
    return next((kind for column, kind in _TABLES.items() if column in heading), None)


def _columns(rows: list[tuple[int, str]]) -> list[LogLine]:
    """Return the entries of the rows of `kubectl get events`, also with `-o wide` or `-A`, and of `kubectl
    events`.
    """
    found: list[LogLine] = []
    starts: dict[str, tuple[int, int | None]] = {}
    for number, line in rows:
        if _HEADING.match(line):
            starts = _headings(line)
            continue
        row = _ROW.fullmatch(line)
        if row is None:
            continue
        space, times, kind, reason, object_kind, name, message = row.groups()
        if "SOURCE" in starts:
            cell = {key: line[begin:end].strip() for key, (begin, end) in starts.items()}
            if cell["SOURCE"] and "karpenter" not in cell["SOURCE"]:
                continue
            # A message that is longer than its column moves the cells behind it.
            moved = _AFTER_MESSAGE.fullmatch(line[starts["MESSAGE"][0] :]) if "NAME" in starts else None
            message = moved[1] if moved else cell.get("MESSAGE", message)
            times = moved[2] if moved else cell.get("COUNT") or times
        entry = event(object_kind, name, space or "", reason, message, kind == "Warning", number)
        if entry is not None:
            found.append(entry._replace(times=int(times) if times and times.isdigit() else 1))
    return found


def _headings(line: str) -> dict[str, tuple[int, int | None]]:
    """Return start and end of each column of a table, by its heading; kubectl separates columns by two spaces."""
    begins = [(match[0], match.start()) for match in re.finditer(r"\S+(?: \S+)*", line)]
    ends = [start for _, start in begins[1:]] + [None]
    return {name: (start, end) for (name, start), end in zip(begins, ends, strict=True)}


class _Described:
    """A reader of `kubectl describe`: an object's name, the conditions of Karpenter's kinds, and the events."""

    def __init__(self) -> None:
        self.found: list[LogLine] = []
        self.seen = False
        self._kind = self._name = self._space = ""
        self._condition: dict[str, str] = {}
        self._conditions: list[dict[str, str]] = []
        self._number = 0
        self._within = -1

    def take(self, number: int, line: str) -> None:
        row = _DESCRIBED.fullmatch(line)
        if row is not None and self._name:
            self._end(number)
            self._event(number, row)
            return
        key = _KEY.fullmatch(line)
        if key is None:
            return
        indent, name, value = len(key[1]), key[2], key[3] or ""
        if indent == 0:
            self._top(name, value, number)
        elif name == "Conditions":
            self._within, self._number = indent, number
        elif self._within >= 0 and indent > self._within:
            self._condition[name] = value
            if name == "Type":
                self._conditions.append(self._condition)
                self._condition = {}
        elif self._within >= 0:
            self._within = -1

    def _top(self, name: str, value: str, number: int) -> None:
        self._within = -1
        if name == "Name":
            self._end(number)
            self._kind, self._name, self._space = "", value, ""
        elif name == "Namespace":
            self._space = value
        elif name == "Kind":
            self._kind = value
        elif name in ("QoS Class", "Containers", "Service Account"):
            self._kind = self._kind or "Pod"
        elif name in ("Capacity", "Allocatable", "PodCIDR", "Non-terminated Pods"):
            self._kind = self._kind or "Node"
        elif name == "Events":
            self._end(number)
        self.seen = self.seen or (bool(self._name) and self._kind in KINDS.values())

    def _end(self, number: int) -> None:
        """Add the conditions of the current object."""
        if self._conditions:
            conditions = [
                {
                    "type": condition.get("Type", ""),
                    "status": condition.get("Status", ""),
                    "reason": condition.get("Reason", ""),
                    "message": condition.get("Message", ""),
                    "lastTransitionTime": condition.get("Last Transition Time", ""),
                }
                for condition in self._conditions
            ]
            obj: dict[str, Any] = {"kind": self._kind, "metadata": {"name": self._name}}
            self.found += conditions_of({**obj, "status": {"conditions": conditions}}, self._number or number)
        self._conditions, self._condition, self._within = [], {}, -1

    def _event(self, number: int, row: re.Match[str]) -> None:
        kind, reason, times, source, message = row.groups()
        if "karpenter" not in source:
            return
        entry = event(self._kind or "Pod", self._name, self._space, reason, message, kind == "Warning", number)
        if entry is not None:
            self.found.append(entry._replace(times=int(times or 1)))


_ALONE = re.compile(rf"\s*+(Normal|Warning)\s++([A-Z]\w++)\s++(?:{_AGE}\s++([a-z][\w.-]*+)\s++)?(.+)")


def _events_alone(rows: list[tuple[int, str]]) -> list[LogLine]:
    """Return the entries of event lines that were copied without their object."""
    found = []
    for number, line in rows:
        row = _ALONE.fullmatch(line)
        if row is None:
            continue
        kind, reason, times, source, message = row.groups()
        entry = event("Node", "", "", reason, message, kind == "Warning", number)
        if entry is not None and "karpenter" in (source or "karpenter"):
            found.append(entry._replace(times=int(times or 1), fields={}))
    return found


_CONDITION_LINE = re.compile(
    r"\s*+-?\s*+(last ?transition ?time|message|observed ?generation|reason|status|type):(?:\s++(.*))?", re.IGNORECASE
)


def _conditions_alone(rows: list[tuple[int, str]]) -> list[LogLine]:
    """Return the entries of conditions that were copied without their object; `type` is the last field."""
    conditions: list[dict[str, str]] = []
    stated: dict[str, str] = {}
    first = 0
    for number, line in rows:
        row = _CONDITION_LINE.fullmatch(line)
        if row is None:
            continue
        key = row[1].replace(" ", "").lower()
        first = first or number
        stated[{"lasttransitiontime": "lastTransitionTime"}.get(key, key)] = _unquoted(row[2] or "")
        if key == "type":
            conditions.append(stated)
            stated = {}
    kind = next((kind for condition in conditions if (kind := kind_of_condition(condition))), "")
    return conditions_of({"kind": kind, "status": {"conditions": conditions}}, first) if kind else []


def _unquoted(text: str) -> str:
    text = text.strip()
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'" else text


# Words that only a message about Karpenter or a pod without a node has; another program's text has none of them.
_CONCERNS = re.compile(
    r"karpenter|\bnode ?(?:claim|pool|class|overlay)|ec2nodeclass|instance type|launch template", re.IGNORECASE
)


def _bare(rows: list[tuple[int, str]]) -> tuple[list[LogLine], int]:
    """Return the entries of a few lines that are messages of the controller or of a tool, and the number of unused
    lines.

    A message that a terminal has wrapped is joined.
    """
    rows = [(number, _FRAME.sub("", line)) for number, line in rows]
    rows = [(number, line) for number, line in rows if line]
    if len(rows) > _MOST_BARE or any(_STRUCTURED.search(line) for _, line in rows):
        return [], len(rows)
    known = [(number, line.strip()) for number, line in rows if recognise(line)]
    whole = " ".join(line.strip() for _, line in rows)
    if not known and rows and recognise(whole):
        known = [(rows[0][0], whole)]
    if not known and rows and _CONCERNS.search(whole):
        return [LogLine(rows[0][0], "ERROR", None, whole, "", {}, "", source="text")], 0
    return [LogLine(n, "ERROR", None, message, "", {}, "", source="text") for n, message in known], len(rows) - len(
        known
    )
