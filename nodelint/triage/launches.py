"""Find pods for which Karpenter launches one node after another, although each node becomes ready.

The scheduler expects the pod to fit on a new node, but kube-scheduler does not place it: the node has fewer resources
than expected, or lacks a label. The controller logs no failure. It logs each round of scheduling: the pods, how many
of them go to new NodeClaims, and each NodeClaim that it creates.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from nodelint.data import table
from nodelint.triage.logs import LogLine

LAUNCHED_AGAIN = "launched-again"
"""The cause, as `data/triage.json` names it."""

_TIMES = 3
"""The number of nodes for one pod from which repeated launches are reported."""

# A pod that moves hours later does so for another reason: an upgrade, an interruption, drift.
_WITHIN = 1800.0
_MOST = 20_000


class Launches:
    """Follows the scheduling rounds of a log's pods, with bounded memory."""

    def __init__(self) -> None:
        self._words: dict[str, str] = table("triage")["launches"]
        self._rounds: dict[str, _Round] = {}
        self._pods: dict[str, _Streak] = {}
        self._ready: dict[str, str] = {}
        self._gone: dict[str, None] = {}

    def take(self, entry: LogLine) -> LogLine | None:
        """Record a line.

        Return a line with pod and NodeClaims if a pod got another node and is still pending; else None.
        """
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
        """Return whether the nodes of the round before became ready and still exist, but the pod needs
        another one.
        """
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
    """One round of scheduling: its pods, and how many of them go to new nodes."""

    def __init__(self, pods: tuple[str, ...], placed: object = None) -> None:
        self.pods = pods
        self.placed = placed


class _Streak:
    """Consecutive rounds that each gave one pod a new node."""

    def __init__(self) -> None:
        self.round: _Round | None = None
        self.count = 0
        self.time: float | None = None
        self.latest: list[str] = []
        self.claims: list[str] = []


def _count_launches(entry: LogLine, repeated: dict[str, _Streak]) -> LogLine:
    """Return the line with the pods and all NodeClaims created for them; `times` is the number of nodes so far."""
    fresh = [streak for streak in repeated.values() if streak.count == _TIMES and len(streak.latest) == 1]
    claims = dict.fromkeys(claim for streak in repeated.values() for claim in streak.claims)
    about: dict[str, object] = {**entry.fields, "Pod": list(repeated), "NodeClaim": list(claims)}
    times = max((len(streak.claims) for streak in fresh), default=1)
    return entry._replace(level="WARN", fields=about, times=times)


def _listed(text: str) -> tuple[str, ...]:
    """Return the pods in the controller's list; empty if the list is shortened."""
    pods: Iterable[str] = (part.strip() for part in text.split(","))
    return () if " other(s)" in text else tuple(pod for pod in pods if pod)


def _name(entry: LogLine, kind: str) -> str:
    value = entry.fields.get(kind)
    name = value.get("name") if isinstance(value, dict) else value
    return name if isinstance(name, str) else ""
