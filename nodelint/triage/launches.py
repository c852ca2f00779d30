"""Pods for which one node after another is launched, although each node comes up.

The scheduler reckons that the pod fits on a new node, and kube-scheduler finds that it does not: the node
has less than was expected of it, or lacks what the pod asks for. The controller logs no failure. It logs
each round of scheduling: the pods, how many of them go to new NodeClaims, and each NodeClaim that it creates.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from nodelint.data import table
from nodelint.triage.logs import LogLine

LAUNCHED_AGAIN = "launched-again"
"""The cause, as `data/triage.json` names it."""

_TIMES = 3
"""So many nodes for one pod are no accident."""

# A pod that moves hours later does so for another reason: an upgrade, an interruption, drift.
_WITHIN = 1800.0
_MOST = 20_000


class Launches:
    """Follows the rounds of a log's pods; what it keeps is bounded."""

    def __init__(self) -> None:
        self._words: dict[str, str] = table("triage")["launches"]
        self._rounds: dict[str, _Round] = {}
        self._pods: dict[str, _Streak] = {}
        self._ready: dict[str, str] = {}
        self._gone: dict[str, None] = {}

    def take(self, entry: LogLine) -> LogLine | None:
        """Record a line; the line with pod and NodeClaims where a pod got another node and is still pending."""
        if entry.source == "object":
            return self._event(entry)
        says = entry.message
        if says.startswith(self._words["found"]):
            pods = entry.fields.get("Pods")
            self._rounds[entry.stream] = _Round(_listed(pods) if isinstance(pods, str) else ())
            return None
        if says.startswith(self._words["computed"]):
            if entry.stream in self._rounds:
                self._rounds[entry.stream].placed = entry.fields.get("pods")
            return None
        if says.startswith(self._words["created"]):
            return self._created(entry)
        if says.startswith(self._words["initialized"]):
            self._note(self._ready, _name(entry, "NodeClaim"), _name(entry, "Node"))
        elif any(says.startswith(self._words[word]) for word in ("tainted", "deleted", "interrupted")):
            for kind in ("NodeClaim", "Node"):
                self._note(self._gone, _name(entry, kind), None)
        return None

    def _event(self, entry: LogLine) -> LogLine | None:
        claim, pod = _name(entry, "NodeClaim"), entry.fields.get("Pod")
        if entry.message == "Nominated" and isinstance(pod, dict):
            name = f"{pod.get('namespace', 'default')}/{pod['name']}"
            streak = self._pods.get(name)
            if streak is not None and claim in streak.claims:
                return None
            self._rounds[entry.stream] = _Round((name,), placed=1)
            return self._created(entry)
        if entry.message == "Initialized":
            self._note(self._ready, claim, "")
        elif entry.message.startswith("Disrupt") or entry.message == "TerminatingOnInterruption":
            self._note(self._gone, claim, None)
        return None

    def _created(self, entry: LogLine) -> LogLine | None:
        current, claim = self._rounds.get(entry.stream), _name(entry, "NodeClaim")
        # Where some pods go to nodes that are there, or not all are named, it is not known which go where.
        if current is None or not claim or not current.pods or current.placed != len(current.pods):
            return None
        repeated: dict[str, _Streak] = {}
        for pod in current.pods:
            streak = self._pods.get(pod)
            if streak is None or (streak.round is not current and not self._in_vain(streak, entry)):
                streak = _Streak()
            if streak.round is not current:
                streak.round, streak.latest, streak.time = current, [], entry.time
                streak.count += 1
            streak.latest.append(claim)
            streak.claims.append(claim)
            self._note(self._pods, pod, streak)
            if streak.count >= _TIMES:
                repeated[pod] = streak
        return _count_launches(entry, repeated) if repeated else None

    def _in_vain(self, streak: _Streak, entry: LogLine) -> bool:
        """Whether the nodes of the round before came up and are still there, and the pod needs another one."""
        if entry.time is None or streak.time is None or not 0 <= entry.time - streak.time <= _WITHIN:
            return False
        up = [claim in self._ready for claim in streak.latest]
        gone = [claim in self._gone or self._ready.get(claim) in self._gone for claim in streak.latest]
        return all(up) and not any(gone)

    @staticmethod
    def _note(known: dict[str, Any], key: str, value: object) -> None:
        if not key:
            return
        known.pop(key, None)
        if len(known) >= _MOST:
            known.pop(next(iter(known)))
        known[key] = value


class _Round:
    """One round of scheduling."""

    def __init__(self, pods: tuple[str, ...], placed: object = None) -> None:
        self.pods = pods
        self.placed = placed


class _Streak:
    """Rounds that each gave one pod a new node."""

    def __init__(self) -> None:
        self.round: _Round | None = None
        self.count = 0
        self.time: float | None = None
        self.latest: list[str] = []
        self.claims: list[str] = []


def _count_launches(entry: LogLine, repeated: dict[str, _Streak]) -> LogLine:
    """Return the line, about the pods and the NodeClaims that were made for them; as often as there were nodes so
    far.
    """
    fresh = [streak for streak in repeated.values() if streak.count == _TIMES and len(streak.latest) == 1]
    claims = dict.fromkeys(claim for streak in repeated.values() for claim in streak.claims)
    about: dict[str, object] = {**entry.fields, "Pod": list(repeated), "NodeClaim": list(claims)}
    times = max((len(streak.claims) for streak in fresh), default=1)
    return entry._replace(level="WARN", fields=about, times=times)


def _listed(text: str) -> tuple[str, ...]:
    """Pods as the controller lists them; empty if it names only some of them."""
    pods: Iterable[str] = (part.strip() for part in text.split(","))
    return () if " other(s)" in text else tuple(pod for pod in pods if pod)


def _name(entry: LogLine, kind: str) -> str:
    value = entry.fields.get(kind)
    name = value.get("name") if isinstance(value, dict) else value
    return name if isinstance(name, str) else ""
