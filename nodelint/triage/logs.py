"""Read the lines of a Karpenter controller's log, in any wrapping.

The controller writes one JSON object a line (zap's production encoder with the keys level, time, logger, message and
commit; `pkg/operator/logging` of Karpenter core, the same from 1.0 to 1.14), or tab-separated columns if its encoding
is `console`. kubectl, stern, container runtimes and collectors add a prefix, or wrap the line into JSON of their own.
An export of a log store has the lines as JSON strings, CSV cells or indented objects, sometimes many on one line.
Lines copied from a terminal may be broken into pieces.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, Literal

from nodelint.base.tuples import NamedTuple
from nodelint.triage.disruptions import MOST, Disrupted, read_disruption
from nodelint.triage.exported_lines import (
    ARRAY,
    BEGINS,
    LEVEL_NAMES,
    LEVELS,
    is_controller_line,
    read_object,
    split_export,
)
from nodelint.triage.times import instant

# Container runtimes cut a line every 16 KiB; more pieces than this are no log line.
_MOST_PIECES = 64
_DOCKER_PIECE = 16 * 1024
_MOST_STREAMS = 1000
_READ_WHOLE = 50

FAILURES = frozenset({"WARN", "ERROR", "DPANIC", "PANIC", "FATAL"})
"""The levels at which a line is always a failure."""

_ESCAPES = re.compile(r"\x1b(?:\[[0-9;:?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")
_STAMP = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?"
_STAMPS = re.compile(rf"(?<!\S){_STAMP}(?!\S)")
_RUNTIME = re.compile(rf"(?:^|\s){_STAMP} (?:stdout|stderr) ([FP]) ")
_CONSOLE = re.compile(rf"({_STAMP})\t({'|'.join(sorted(LEVELS))})\t((?:controller|webhook)[\w.-]*)\t(.*)", re.DOTALL)
_CALLER = re.compile(r"[\w./@-]+\.go:\d+")
_PANIC = re.compile(r"(?:^|\s)panic: (\S.*)", re.DOTALL)
_KLOG = re.compile(r"(?:^|\s)[EF]\d{4} \d\d:\d\d:\d\d\.\d+\s+\d+ [\w.-]+\.go:\d+\] (\S.*)", re.DOTALL)
# Karpenter's own code in a stack trace: another program may well name the project.
_OURS = re.compile(
    r"(?:sigs\.k8s\.io/karpenter(?:@[^/\s]{1,80})?|karpenter-provider-aws(?:@[^/\s]{1,80})?)/(?:pkg|cmd)/"
)
_FIRST_KEY = re.compile(rf'(\s*)"level": ?"(?:{LEVEL_NAMES})",\s*', re.IGNORECASE)
_INDENTED = re.compile(rb'\s*(?:"[^"]*": .*|[][{}]+,?)\s*$')
# Longer than any line that somebody has copied from a terminal, or an object indented.
_MOST_HELD = 1 << 17
_QUIET = re.compile(rb'"level": ?"(?:INFO|DEBUG)"')
_TIME_KEY = re.compile(rb'"time": ?"(\d{4}-\d\d-\d\dT[^"]{8,30})"')


class LogLine(NamedTuple):
    """One line of the controller.

    `number` is its number in the log (from 1); `time` is in seconds since 1970, None if the line has none; `fields`
    is everything that was logged besides the message; `stream` separates the lines of several pods, as far as their
    prefixes do. If `source` is not `log`, it is an event or condition of an object, or a bare message: `times` is how
    often it occurred since `since`.
    """

    number: int
    level: str
    time: float | None
    message: str
    error: str
    fields: dict[str, Any]
    stream: str
    times: int = 1
    since: float | None = None
    source: Literal["log", "object", "text"] = "log"

    @property
    def text(self) -> str:
        """Return message and error as one text, in which causes are searched."""
        return f"{self.message}\n{self.error}" if self.error else self.message


class Reader:
    """Reads a log line by line; the counts are those of the lines read so far.

    `lines` is the number of lines that are not blank, `read` those of the controller, `unread` those that could not
    be parsed. `unread_first` and `unread_last`: the first or last line looks like a piece of a line. `disruptions`
    counts voluntary disruptions by reason; `disrupted` are the first disrupted nodes. `first` and `last` are the
    first and last time in the log; None if no line has one.
    """

    def __init__(self, keep: Iterable[str] = ()) -> None:
        """Create a reader.

        `keep` are words of wanted lines below level warning; others may be skipped without parsing.
        """
        words = [re.escape(word.encode()) for word in keep]
        self._keep = re.compile(b"|".join(words)) if words else None
        self._pieces: dict[str, list[str]] = {}
        self.lines = self.read = self.unread = self.number = 0
        self.unread_first = self.unread_last = False
        self.first: float | None = None
        self.last: float | None = None
        self.disruptions: dict[str, int] = {}
        self.disrupted: list[Disrupted] = []
        self._latest = b""
        self._held: list[str] = []
        self._held_number = 0
        self._indent = ""

    def entries(self, lines: Iterable[bytes]) -> Iterator[LogLine]:
        """Yield the lines that matter: those of a failure's level, those with a word to keep, and the first few."""
        pending: list[LogLine] = []
        proven = False
        for self.number, raw in enumerate(lines, 1):
            if not raw.strip():
                continue
            self.lines += 1
            self.unread_last = False
            if (disruption := read_disruption(raw)) is not None:
                reason, nodes = disruption
                self.disruptions[reason] = self.disruptions.get(reason, 0) + 1
                self.disrupted += nodes[: MOST - len(self.disrupted)]
            if self.read >= _READ_WHOLE and self._skips(raw):
                self.read += 1
                continue
            entries, ours = self._line(raw.decode("utf-8", "replace"))
            proven = proven or ours
            if not entries:
                if not ours and not self._held:
                    self.unread += 1
                    self.unread_last = _is_piece(raw)
                    self.unread_first = self.unread_first or (self.lines == 1 and self.unread_last)
                continue
            # A panic or a line of klog's could be any program's, as long as nothing else is there.
            pending += entries
            if proven or len(pending) >= _READ_WHOLE:
                yield from self._passed(pending if proven else [])
                pending.clear()
        if proven:
            yield from self._passed(pending)
        self.unread_last = self.unread_last or bool(self._held)
        self._let_go()
        self._saw(instant(self._latest.decode("ascii", "replace")))

    def _passed(self, entries: list[LogLine]) -> Iterator[LogLine]:
        for entry in entries:
            self.read += 1
            self._saw(entry.time)
            yield entry

    def _skips(self, raw: bytes) -> bool:
        """Return whether a line needs no parsing, as most lines of a log; its time is recorded."""
        if not raw.startswith(b'{"level"') or not _QUIET.match(raw, 1):
            return False
        if self._keep is None or self._keep.search(raw):
            return False
        at = _TIME_KEY.search(raw)
        if at is None or not raw.rstrip().endswith(b"}"):
            return False
        if at[1].endswith(b"Z"):
            self._latest = max(self._latest, at[1])
        else:
            self._saw(instant(at[1].decode("ascii", "replace")))
        return True

    def _saw(self, time: float | None) -> None:
        if time is not None:
            self.first = time if self.first is None else min(self.first, time)
            self.last = time if self.last is None else max(self.last, time)

    def _line(self, line: str) -> tuple[list[LogLine], bool]:
        """Return the entries of a line, joined with its beginning on lines before, and whether it is certainly the
        controller's.
        """
        line = line.rstrip("\r\n")
        if self._held and self._indent:
            return self._indented(line)
        found, ours = self._several(line)
        if found:
            self._let_go()
            return found, ours
        if self._held and not BEGINS.search(line):
            return self._continued(line)
        self._let_go()
        first_key = _FIRST_KEY.fullmatch(line)
        if not ours and (first_key or BEGINS.search(line[:500])):
            self._held, self._held_number = [line], self.number
            self._indent = first_key[1] if first_key else ""
        return [], ours

    def _continued(self, line: str) -> tuple[list[LogLine], bool]:
        """Return the entries of a line joined with its beginning, which a terminal has wrapped."""
        self._held.append(line)
        found, ours = self._several("".join(self._held))
        if found:
            self._held = []
            return [entry._replace(number=self._held_number) for entry in found], ours
        if len(self._held) > _MOST_PIECES or sum(map(len, self._held)) > _MOST_HELD:
            self._let_go()
            self.unread -= 1  # this line is counted by who asked
        return [], False

    def _indented(self, line: str) -> tuple[list[LogLine], bool]:
        """Return the entries of an object that is written over several lines, once its last line is read."""
        closes = line.strip() in ("}", "},") and len(line) - len(line.lstrip()) < len(self._indent)
        if not closes and len(self._held) < 500 and sum(map(len, self._held)) < _MOST_HELD:
            self._held.append(line)
            return [], False
        found, ours = self._several("{" + "".join(self._held) + "}") if closes else ([], False)
        if found:
            self._held = []
            return [entry._replace(number=self._held_number) for entry in found], ours
        self._let_go()
        return [], False

    def _let_go(self) -> None:
        """Count the kept lines of an incomplete entry as unread."""
        self.unread += len(self._held)
        self._held = []

    def _several(self, line: str) -> tuple[list[LogLine], bool]:
        """Return the log entries in a line, and whether the line is certainly from a Karpenter controller.

        There is usually one entry, and many in an export.
        """
        if not (ARRAY.match(line) or len(BEGINS.findall(line)) > 1):
            entry, ours = self._entry(line)
            if entry is not None or ours:
                return [entry] if entry else [], ours
        found = [entry for text in split_export(line) for entry in [self._entry(text)[0]] if entry is not None]
        return found, bool(found)

    def _entry(self, line: str, stream: str = "", depth: int = 0) -> tuple[LogLine | None, bool]:
        """Parse a log line. Return the entry, and whether the line is certainly from a Karpenter controller.

        The entry is None if the line holds none, or only a piece of one so far.
        """
        line = _ESCAPES.sub("", line) if "\x1b" in line else line
        line = line.lstrip("\ufeff").rstrip("\r\n")
        runtime = _RUNTIME.search(line[:300])
        if runtime:
            stream = stream or line[: runtime.start()].strip()
            stamp = line[runtime.start() : runtime.end()]
            whole = self._joined(stream, line[runtime.end() :], runtime[1] == "F")
            if whole is None:
                return None, True
            line = stamp + whole
        columns = _CONSOLE.search(line) if "\t" in line else None
        if columns:
            return self._console(line, columns, stream), True
        start = line.find("{")
        if start >= 0:
            found = read_object(line, start)
            begins = BEGINS.search(line, start + 1) if found is None else None
            if begins:  # after labels in braces, for example
                start, found = begins.start(), read_object(line, begins.start())
            if found is not None:
                before = line[:start]
                stream = stream or " ".join(_STAMPS.sub(" ", before).split())
                if is_controller_line(found):
                    return self._from_fields(found, before, stream), True
                inner = _wrapped(found)
                if isinstance(inner, dict):
                    return self._from_fields(inner, before, stream), True
                if inner is not None and depth < 3:
                    return self._unwrapped(found, inner, stream, depth)
        return self._plain(line, stream)

    def _unwrapped(self, outer: dict[str, Any], inner: str, stream: str, depth: int) -> tuple[LogLine | None, bool]:
        """Return the entry in a JSON line of a container runtime or a collector, and whether it is the
        controller's.
        """
        about = outer.get("kubernetes")
        pod = about.get("pod_name") if isinstance(about, dict) else None
        stream = pod if isinstance(pod, str) else stream
        if "stream" in outer and "time" in outer:
            # Docker: a piece of 16 KiB without a line's end goes on in the next one. Collectors take the end away.
            short = len(inner.encode("utf-8", "replace")) < _DOCKER_PIECE
            whole = self._joined(stream, inner, outer.get("_p", "F") == "F" and (short or inner.endswith("\n")))
            if whole is None:
                return None, True
            inner = whole
        entry, ours = self._entry(inner, stream, depth + 1)
        if entry is not None and entry.time is None:
            entry = entry._replace(time=instant(str(outer.get("time") or outer.get("@timestamp") or "")))
        return entry, ours

    def _joined(self, stream: str, piece: str, ends: bool) -> str | None:
        """Return a line that a container runtime split, once its last piece is read; else None."""
        pieces = self._pieces.pop(stream, [])
        if ends:
            return "".join([*pieces, piece])
        if len(pieces) < _MOST_PIECES and len(self._pieces) < _MOST_STREAMS:
            pieces.append(piece)
        self._pieces[stream] = pieces
        return None

    def _console(self, line: str, columns: re.Match[str], stream: str) -> LogLine:
        rest = columns[4]
        head, _, tail = rest.partition("\t")
        if _CALLER.fullmatch(head):
            rest = tail
        message, _, tail = rest.partition("\t")
        fields = (read_object(tail, 0) if tail.startswith("{") else None) or {}
        prefix = line[: columns.start()]
        stream = stream or " ".join(_STAMPS.sub(" ", prefix).split())
        error = _error(fields)
        if not error and tail and not fields:
            error = tail  # cut, or not JSON: better than nothing
        return LogLine(self.number, columns[2], instant(columns[1]), message, error, fields, stream)

    def _from_fields(self, fields: dict[str, Any], before: str, stream: str) -> LogLine:
        time = fields.get("time")
        if isinstance(time, int | float) and not isinstance(time, bool) and 0 <= time < 1e11:
            at: float | None = float(time)
        else:
            at = instant(time) if isinstance(time, str) else None
        if at is None:
            at = instant(before)
        return LogLine(self.number, fields["level"].upper(), at, fields["message"], _error(fields), fields, stream)

    def _plain(self, line: str, stream: str) -> tuple[LogLine | None, bool]:
        """Return the entry of a panic or a klog line, which the controller writes to the same stream.

        The second value says whether it is a line of Karpenter's stack trace.
        """
        found = _PANIC.search(line) or _KLOG.search(line)
        if found:
            level = "PANIC" if "panic: " in found[0] else "ERROR"
            stream = stream or " ".join(_STAMPS.sub(" ", line[: found.start()]).split())
            return LogLine(self.number, level, instant(line[:200]), found[1].strip(), "", {}, stream), False
        return None, _OURS.search(line) is not None


def _is_piece(line: bytes) -> bool:
    """Return whether an unreadable line looks like a piece of a line: the beginning or end of JSON, or columns."""
    if _INDENTED.match(line):
        return False  # fields of an export other than its lines
    return b'":' in line or b"\t" in line or line.rstrip().endswith(b"}")


def _wrapped(found: dict[str, Any]) -> str | dict[str, Any] | None:
    """Return the line within a JSON line of Docker (`log`), a collector or journald, as text or parsed; None if there
    is none.
    """
    for key in ("log_processed", "log", "message", "body", "line", "MESSAGE", "@message", "_raw"):
        inner = found.get(key)
        if isinstance(inner, str) or (isinstance(inner, dict) and is_controller_line(inner)):
            return inner
    return next((inner for inner in found.values() if isinstance(inner, dict) and is_controller_line(inner)), None)


def _error(fields: dict[str, Any]) -> str:
    # The last is the message for a skipped pool, on a line of level info.
    for key in ("error", "err", "minValuesIncompatibleErr"):
        message = fields.get(key)
        if isinstance(message, str):
            return message
    listed = fields.get("errorCauses")  # how zap writes an error of several, here one for each NodePool
    causes = [cause.get("error") for cause in listed if isinstance(cause, dict)] if isinstance(listed, list) else []
    return "; ".join(cause for cause in causes if isinstance(cause, str))
