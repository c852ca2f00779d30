"""Write changes of the CRDs into `schemas/`: fields, values, keywords and label keys, each with its release."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, NamedTuple

from upstream.crds import KEYWORDS, Change

SINCE, UNTIL = "x-karpenter-since", "x-karpenter-until"
_BEFORE, _AFTER, _VALUES = "x-karpenter-before", "x-karpenter-after", "x-karpenter-values"
_COMMENT = re.compile(r"(releases 1\.0\.0 to )\d+\.\d+\.\d+")

Raw = dict[str, Any]


class Outcome(NamedTuple):
    """The result for a change: `written`, `there` (the schema already has it) or `by hand`; and the
    change as text.
    """

    result: str
    what: str


class SchemaFile:
    """One file of `schemas/`, changed in place."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.before = path.read_text(encoding="utf-8")
        self.root: Raw = json.loads(self.before)

    def text(self) -> str:
        return json.dumps(self.root, indent=2, ensure_ascii=False) + "\n"

    def follow(self, newest: str) -> None:
        """Write the newest release from which the facts come."""
        self.root["$comment"] = _COMMENT.sub(rf"\g<1>{newest}", self.root["$comment"])

    def apply(self, change: Change, release: str, released: bool = True) -> Outcome:
        """Write one change of a release into the schema and return what was done.

        A change that is not released yet goes under `x-karpenter-after`, because the file holds the keywords of the
        newest release.
        """
        if change.what == "rule":
            return Outcome("by hand", f"{change} in {release}; write it in our own words")
        if change.what == "opened":
            return Outcome(
                "by hand", f"{change.kind}/{change.version} {change.path}: fields became a map, or the reverse"
            )
        if change.what == "label":
            return self._label(change, release)
        if change.what == "field":
            return self._field(change, release)
        places = self._places(change.path)
        if places is None:
            return Outcome("by hand", f"{change}; the schema has no such place")
        if change.name == "enum":
            return _enum(places, change, release)
        return _keyword(places, change, release) if released else _pending_keyword(places, change, release)

    # -- where things are

    def _places(self, path: str) -> list[Raw] | None:
        """Return the schemas of a path: the one that is written there, then those to which its `$ref` leads."""
        found: list[Raw] = [self.root]
        for step in re.findall(r"[^.\[\]{}]+|\[\]|\{\}", path):
            inner = [_inner(raw, step) for raw in found]
            chosen = next((raw for raw in inner if raw is not None), None)
            if chosen is None:
                return None
            found = self._with_target(chosen)
        return found

    def _with_target(self, raw: Raw) -> list[Raw]:
        found = [raw]
        while "$ref" in found[-1]:
            target: Any = self.root
            for step in found[-1]["$ref"].removeprefix("#/").split("/"):
                target = target[step]
            found.append(target)
        return found

    # -- what changes

    def _field(self, change: Change, release: str) -> Outcome:
        parent, _, name = change.path.rpartition(".")
        if not parent or re.search(r"[\[\]{}]", name):
            return Outcome("by hand", f"{change}; the kind of value changes")
        places = self._places(parent)
        if places is None:
            return Outcome("by hand", f"{change}; the schema has no {parent}")
        holder = next((raw for raw in places if "properties" in raw), places[0])
        there = holder.get("properties", {}).get(name)
        if change.new is None:
            return _gone(there, change, release)
        if there is not None:
            since = there.get(SINCE)
            if since == release or (since is None and UNTIL not in there):
                return Outcome("there", str(change))
            return Outcome("by hand", f"{change}; the schema has it since {since}, until {there.get(UNTIL)}")
        holder.setdefault("properties", {})[name] = {**_translated(change.new), SINCE: release}
        rules = list(_rules(change.new, change.path))
        needs = [
            "a description of each field in our own words",
            *(f"the rule of {path}: {rule}" for path, rule in rules),
        ]
        return Outcome("written", f"{change.kind} {change.path}: new; by hand: {'; '.join(needs)}")

    def _label(self, change: Change, release: str) -> Outcome:
        key = self.root.get("$defs", {}).get("labelKey")
        if key is None:
            return Outcome("by hand", f"{change}; the schema has no label keys")
        for rule in key["x-kubernetes-validations"]:
            head, found, rest = rule["rule"].partition(" || self in ['karpenter.k8s.aws/")
            if not found:
                continue
            labels = re.findall(r"'([^']+)'", f"'karpenter.k8s.aws/{rest}")
            values = key.setdefault(_VALUES, {})
            if change.new is None:
                return _border(values.setdefault(change.name, {}), "until", change, release)
            if change.name in labels:
                return Outcome("there", str(change))
            listed = ", ".join(f"'{label}'" for label in sorted([*labels, change.name]))
            rule["rule"] = f"{head} || self in [{listed}]"
            values[change.name] = {"since": release}
            return Outcome("written", str(change))
        return Outcome("by hand", f"{change}; the schema has no rule about labels of karpenter.k8s.aws")


def _inner(raw: Raw, step: str) -> Raw | None:
    found = (
        raw.get("items")
        if step == "[]"
        else raw.get("additionalProperties")
        if step == "{}"
        else raw.get("properties", {}).get(step)
    )
    return found if isinstance(found, dict) else None


def _gone(there: Raw | None, change: Change, release: str) -> Outcome:
    if there is None:
        return Outcome("there", str(change))
    if UNTIL in there:
        same = there[UNTIL] == release
        return Outcome("there" if same else "by hand", f"{change}; the schema has it until {there[UNTIL]}")
    there[UNTIL] = release
    return Outcome("written", str(change))


def _border(window: Raw, name: str, change: Change, release: str) -> Outcome:
    if window.get(name) in (None, release):
        result = "there" if name in window else "written"
        window[name] = release
        return Outcome(result, str(change))
    return Outcome("by hand", f"{change}; the schema says {name} {window[name]}")


def _enum(places: list[Raw], change: Change, release: str) -> Outcome:
    if change.old is None or change.new is None:
        return Outcome("by hand", f"{change}; whether values are listed at all changes")
    holder = next((raw for raw in places if "enum" in raw), None)
    if holder is None:
        return Outcome("by hand", f"{change}; the schema lists no values there")
    outcomes = []
    for value in change.new:
        if value in change.old:
            continue
        if value in holder["enum"]:
            since = holder.get(_VALUES, {}).get(value, {}).get("since")
            outcomes.append("there" if since == release else f"the schema has `{value}` since {since}")
            continue
        holder["enum"].append(value)
        holder.setdefault(_VALUES, {})[value] = {"since": release}
        outcomes.append("written")
    values = holder.get(_VALUES, {}) if set(change.old) <= set(change.new) else holder.setdefault(_VALUES, {})
    gone = [values.setdefault(value, {}) for value in change.old if value not in change.new]
    outcomes += [_border(window, "until", change, release).result for window in gone]
    odd = [text for text in outcomes if text not in ("there", "written")]
    if odd:
        return Outcome("by hand", f"{change}; {', '.join(odd)}")
    return Outcome("written" if "written" in outcomes else "there", str(change))


def _pending_keyword(places: list[Raw], change: Change, release: str) -> Outcome:
    holder = next((raw for raw in places if change.name in raw), places[0])
    after = holder.setdefault(_AFTER, {}).setdefault(release, {})
    if change.name in after and _same(after[change.name], change.new):
        return Outcome("there", str(change))
    after[change.name] = change.new
    return Outcome("written", str(change))


def _keyword(places: list[Raw], change: Change, release: str) -> Outcome:
    holder = next((raw for raw in places if change.name in raw), places[0])
    after = holder.get(_AFTER, {}).get(release, {})
    if change.name in after and _same(after.pop(change.name), change.new) and not after:
        del holder[_AFTER][release]
        if not holder[_AFTER]:
            del holder[_AFTER]
    now = holder.get(change.name)
    if _same(now, change.new):
        before = holder.get(_BEFORE, {}).get(release, {})
        is_there = change.name in before and _same(before[change.name], change.old)
        return Outcome(
            "there" if is_there else "by hand", f"{change}{'' if is_there else f'; dated otherwise than {release}'}"
        )
    if not _same(now, change.old):
        return Outcome("by hand", f"{change}; the schema has {now!r}")
    if change.new is None:
        del holder[change.name]
    else:
        holder[change.name] = change.new
    holder.setdefault(_BEFORE, {}).setdefault(release, {})[change.name] = change.old
    return Outcome("written", str(change))


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, list) and isinstance(b, list):
        return sorted(map(str, a)) == sorted(map(str, b))
    return bool(a == b) and isinstance(a, bool) == isinstance(b, bool)


def _translated(raw: Raw) -> Raw:
    """Return a part of a CRD as our schemas write it, without descriptions and without rules."""
    made: Raw = {}
    if raw.get("x-kubernetes-int-or-string"):
        made["type"] = ["integer", "string"]
    made |= {k: raw[k] for k in KEYWORDS if k in raw and not (k == "x-kubernetes-list-type" and raw[k] == "atomic")}
    properties = raw.get("properties")
    if properties:
        made["properties"] = {name: _translated(child) for name, child in properties.items()}
    extra = raw.get("additionalProperties")
    if isinstance(extra, dict):
        made["additionalProperties"] = _translated(extra)
    elif raw.get("type") == "object" and not raw.get("x-kubernetes-preserve-unknown-fields"):
        made["additionalProperties"] = False
    if isinstance(raw.get("items"), dict):
        made["items"] = _translated(raw["items"])
    return made


def _rules(raw: Raw, path: str) -> list[tuple[str, str]]:
    found = [(path, rule["rule"]) for rule in raw.get("x-kubernetes-validations") or []]
    for name, child in (raw.get("properties") or {}).items():
        found += _rules(child, f"{path}.{name}")
    for keyword, mark in (("items", "[]"), ("additionalProperties", "{}")):
        if isinstance(raw.get(keyword), dict):
            found += _rules(raw[keyword], path + mark)
    return found
