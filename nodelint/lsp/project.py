"""What an editor has open, with the rest of its repositories around it, as something that can be judged.

Everything here runs on one thread, over texts that do not change; the server hands it a new `State` for
every change. What a run of the command would read (configuration, snapshot, other manifests) is read by the
same functions.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import cached_property
from re import match
from typing import Any

from pygls.uris import to_fs_path

from nodelint.base.tuples import NamedTuple
from nodelint.config import settings as config
from nodelint.config.file import ConfigError
from nodelint.config.release_selection import Choose
from nodelint.config.session import Session
from nodelint.ec2 import cache
from nodelint.ec2.facts import NOTHING, AwsFacts
from nodelint.files.discover import discover
from nodelint.files.gate import gate
from nodelint.files.safe_read import repository, stand_in
from nodelint.forms.registry import TABLE
from nodelint.inventory import Inventory, build, list_folder_files, read_named_templates
from nodelint.inventory.gaps import list_gaps_of_texts
from nodelint.lint import autofix, baseline, engine
from nodelint.lint.fingerprints import Known
from nodelint.lint.incremental import ResultCaches
from nodelint.lint.proven_fixes import Prover
from nodelint.lsp.around import build_around
from nodelint.lsp.positions import LineIndex
from nodelint.model.documents import objects
from nodelint.model.gap import FilePlace, Gap
from nodelint.model.manifest import Object
from nodelint.plan.fix_drift import find_moved
from nodelint.rule.context import Context
from nodelint.rule.definition import Rule
from nodelint.text import Source, SourceText
from nodelint.text.incremental import move

_SETTINGS = (*config.FILES, "pyproject.toml")

_A_WHILE = timedelta(minutes=1)
"""For how long facts are taken to be as old as they were."""


class Buffer:
    """One version of a text that is open in the editor."""

    def __init__(self, uri: str, version: int | None, text: str, encoding: str) -> None:
        self.uri = uri
        self.version = version
        self.text = text
        self.encoding = encoding
        self.path = _path(uri)

    @property
    def on_disk(self) -> bool:
        """Whether it is a file, and not a text that has no name yet."""
        return self.path != self.uri

    @cached_property
    def source(self) -> Source:
        """The text as it is judged."""
        source = Source.from_text(self.path, self.text)
        if self.on_disk:
            source.part = TABLE.is_part(self.path)
        return source

    @property
    def source_read(self) -> Source | None:
        """The same where it has been read already."""
        return self.__dict__.get("source")

    def take(self, source: Source) -> None:
        """Have a source that has become that of this text."""
        self.__dict__["source"] = source

    @cached_property
    def lines(self) -> LineIndex:
        return LineIndex(self.text, self.encoding)

    def take_lines(self, lines: LineIndex) -> None:
        """Have lines that are known to be those of this text."""
        self.__dict__["lines"] = lines


def speaks_of_files(uri: str) -> bool:
    """Whether a text is a file or will be one; not the other side of a comparison, or a page of an extension."""
    return uri.startswith(("file:", "untitled:"))


def _path(uri: str) -> str:
    path = file_path(uri)
    return uri if path is None else os.path.normpath(path)


def file_path(uri: str) -> str | None:
    """The path of a file's URI; None for another URI, and for one that no file can have."""
    try:
        path = to_fs_path(uri) if uri.startswith("file:") else None
    except ValueError:  # `file://[`: an address that is not one
        return None
    return None if path is None or "\0" in path else path


class State(NamedTuple):
    """What there is to judge at one moment.

    `number` counts every change, `disk` those on disk that the editor told of.
    """

    buffers: Mapping[str, Buffer] = {}
    folders: tuple[str, ...] = ()
    number: int = 0
    disk: int = 0


class Setup(NamedTuple):
    """What a configuration makes of a run; `known` are findings that are not reported, None without a baseline."""

    session: Session
    rules: Mapping[str, Rule]
    selection: engine.Selection
    target: engine.Target
    known: tuple[baseline.KnownFinding, ...] | None = None


class View:
    """Open texts of one configuration and repository, and what can be said of them.

    `home` is the folder from which the files are named.
    """

    def __init__(self, setup: Setup, buffers: Sequence[Buffer], home: str) -> None:
        self.setup = setup
        self.buffers = buffers
        self.home = home
        self.beside: list[Source] = []
        self.folder_files: Sequence[str] = ()
        self.pause: Callable[[], None] = lambda: None
        self.memory: ResultCaches | None = None
        self.marks: dict[str, Known] = {}
        self._lines: dict[tuple[int, str], LineIndex] = {}
        self._fixed: dict[str, autofix.Fixed] = {}

    @property
    def target(self) -> engine.Target:
        return self.setup.target

    @property
    def request(self) -> engine.LintRequest:
        """What a run over its texts asks."""
        return engine.LintRequest(self.target, self.setup.rules, self.setup.selection, self.beside)

    @cached_property
    def inventory(self) -> Inventory:
        """What is built of the texts, with the files around them that this takes."""
        return build_around([buffer.source for buffer in self.buffers], self.beside, self.folder_files)

    @cached_property
    def report(self) -> engine.Report:
        """What is wrong, in all of its texts, less what the baseline knows."""
        sources = [buffer.source for buffer in self.buffers]
        report = engine.lint(
            sources,
            self.request,
            pause=self.pause,
            memory=self.memory,
            built=self.inventory.built,
        )
        file = self.setup.session.settings.baseline
        if self.setup.known is None or file is None:
            return report
        return baseline.split(report, self.setup.known, os.path.dirname(os.path.abspath(file))).new

    def same_as(self, other: View) -> bool:
        """Whether both say the same, because they are made of the very same things."""
        if self.inventory.built or other.inventory.built:  # their values may have changed on disk
            return False
        mine = (*self.setup[1:], self.buffers, self.home, self.beside)
        return mine == (*other.setup[1:], other.buffers, other.home, other.beside)

    def results(self, buffer: Buffer) -> list[engine.Result]:
        """What is wrong in one text."""
        return self._by_source.get(id(buffer.source), [])

    def gaps(self, buffer: Buffer) -> list[Gap]:
        """Return what of one text is not judged, or not built."""
        path = os.path.abspath(buffer.source.path)
        return [gap for gap in self._gaps if os.path.abspath(gap.path) == path]

    @cached_property
    def _gaps(self) -> list[Gap]:
        texts = [buffer.source for buffer in self.buffers]
        skipped = (gap for gap in self.report.skipped if gap.rule is None)
        found = (*list_gaps_of_texts(texts, self.inventory, self.home), *skipped)
        return list({(gap.path, gap.line, gap.sentence): gap for gap in found}.values())

    @cached_property
    def _by_source(self) -> dict[int, list[engine.Result]]:
        found: dict[int, list[engine.Result]] = {}
        for result in self.report.places:
            found.setdefault(id(result.finding.at.source), []).append(result)
        return found

    def fixed(self, buffer: Buffer) -> autofix.Fixed:
        """What `nodelint check --fix` makes of one text."""
        if buffer.uri not in self._fixed:
            others = [other.source for other in self.buffers if other is not buffer]
            request = self.request._replace(context_sources=[*others, *self.beside])
            prover = Prover(request, build, find_moved)
            self._fixed[buffer.uri] = autofix.fix([buffer.source], request, prove=prover)
        return self._fixed[buffer.uri]

    def offered(self, result: engine.Result) -> engine.Result:
        """A finding with what holds of its fix and suggestions: they are tried when somebody asks for them."""
        return self._offered.get(_offer_key(result), result)

    @cached_property
    def _offered(self) -> dict[tuple[object, ...], engine.Result]:
        def build_again(sources: Sequence[Source]) -> Inventory:
            return build_around(sources, self.beside, self.folder_files)

        sources = [buffer.source for buffer in self.buffers]
        prover = Prover(self.request, build_again, find_moved).begin(self.inventory, sources)
        return {_offer_key(result): result for result in prover(sources, self.report).places}

    @cached_property
    def _objects(self) -> dict[int, list[Object]]:
        sources = [*(buffer.source for buffer in self.buffers), *self.beside]
        return {id(source): list(objects(source)) for source in sources}

    @cached_property
    def built(self) -> list[Object]:
        """The objects that are built of the texts: of templates with their values, say."""
        return [obj for built in self.inventory.built for obj in objects(built.source)]

    def objects(self, buffer: Buffer) -> list[Object]:
        """Karpenter's objects in one text; those that `context` knows."""
        return self._objects.get(id(buffer.source), [])

    @cached_property
    def context(self) -> Context:
        """What rules may ask, to be asked by whoever explains."""
        every = [*(obj for found in self._objects.values() for obj in found), *self.built]
        return Context(every, self.target)

    def lines_of(self, source: SourceText, encoding: str) -> LineIndex:
        """The lines of a source, as an editor shows them."""
        opened = self.buffer_of(source)
        if opened is not None:
            return opened.lines
        key = id(source), encoding
        if key not in self._lines:
            self._lines[key] = LineIndex(source.text, encoding, hides_bom=True)
        return self._lines[key]

    def buffer_of(self, source: SourceText) -> Buffer | None:
        """The open text that a source is of."""
        return next((buffer for buffer in self.buffers if buffer.source is source), None)


def _offer_key(result: engine.Result) -> tuple[object, ...]:
    return result.rule.name, result.span, result.finding.message


class Project:
    """The views of a state, and what is kept from one state to the next.

    `now` gives the time, in UTC. `pause` is called between objects that are judged, and may raise to end that.
    """

    def __init__(self, now: Callable[[], datetime], pause: Callable[[], None] = lambda: None) -> None:
        self._pause = pause
        self.troubles: list[Gap] = []
        self._now = now
        self._state: State | None = None
        self._views: list[View] = []
        self._disk: dict[tuple[str, str], tuple[list[Source], Choose | None, list[str]]] = {}
        self._last_good: dict[str | None, Setup] = {}
        self._kept: dict[str, tuple[object, Any]] = {}
        self._facts_known: dict[tuple[str, str], tuple[datetime, AwsFacts]] = {}
        self._read_last: dict[str, tuple[int, Source]] = {}
        self._memories: dict[tuple[str | None, str | None], tuple[ResultCaches, dict[str, Known]]] = {}

    def warm(self) -> None:
        """Load what the first text would wait for."""
        pool = "apiVersion: karpenter.sh/v1\nkind: NodePool\nspec: {template: {spec: {requirements: []}}}\n"
        session = Session(config.Settings())
        setup = Setup(session, session.rules, session.selection, session.target())
        view = View(setup, [Buffer("untitled:warm", 0, pool, "utf-16")], "")
        _ = view.report

    def views(self, state: State) -> list[View]:
        """The views of a state; `troubles` then holds what stood in the way."""
        before = self._state
        if before is not None and before.number == state.number:
            return self._views
        if before is None or before.disk != state.disk or before.folders != state.folders:
            self._disk.clear()
            TABLE.forget()
        self.troubles = []
        # A configuration counts once it is saved: what is half written would be complained about at each key.
        texts = {b.path: b.text for b in state.buffers.values() if os.path.basename(b.path) not in _SETTINGS}
        stand_in(texts)
        moved = self._read_texts(state)
        groups: dict[tuple[str | None, str | None], list[Buffer]] = {}
        for buffer in state.buffers.values():
            folder = _folder(buffer, state)
            try:
                path = config.find(folder)
            except ConfigError as error:
                named = str(error).partition(": ")[0]
                self._tell(str(error), named if os.path.isfile(named) else None)
                continue
            root = repository(folder) or _workspace_folder(folder, state.folders)
            gate.admit(root or folder)
            groups.setdefault((path, root), []).append(buffer)
        old, self._views = [view for view in self._views if not moved.intersection(map(id, view.beside))], []
        for (path, root), buffers in groups.items():
            folder = root or _folder(buffers[0], state)
            setup = self._setup(path, folder)
            if setup is not None:
                view = self._view(setup, buffers, root, folder, state)
                view.pause = self._pause
                view.memory, view.marks = self._memories.setdefault((path, root), (ResultCaches(), {}))
                self._views.append(next((old_view for old_view in old if old_view.same_as(view)), view))
        self._state = state
        return self._views

    def _read_texts(self, state: State) -> set[int]:
        """Read what is new; gives the sources (by `id`) that have become those of another text of theirs."""
        last, self._read_last, found = self._read_last, {}, set()
        for uri, buffer in state.buffers.items():
            disk, before = last.get(uri, (-1, None))
            if before is not None and disk == state.disk and before is not buffer.source_read:
                moved = move(before, buffer.text)
                if moved is not None:
                    buffer.take(before)
                    found.add(id(before))
                    for memory, _ in self._memories.values():
                        memory.move(moved)
            self._read_last[uri] = state.disk, buffer.source
        return found

    def view_of(self, state: State, uri: str) -> tuple[View, Buffer] | None:
        """The view that an open text is in; None where it is excluded, or its configuration cannot be used."""
        for view in self.views(state):
            for buffer in view.buffers:
                if buffer.uri == uri:
                    return view, buffer
        return None

    def _view(self, setup: Setup, buffers: list[Buffer], root: str | None, folder: str, state: State) -> View:
        exclude = setup.session.exclude
        requested = [buffer for buffer in buffers if not (buffer.on_disk and exclude and exclude.match(buffer.path))]
        # In the order in which a run would read them, and not in that in which they were opened.
        requested.sort(key=lambda buffer: buffer.path.split(os.sep))
        if root is None:
            return View(setup, requested, folder)
        on_disk, choose, folder_files = self._repository(setup.session, root)
        view = View(setup._replace(target=setup.target._replace(choose=choose)), requested, folder)
        opened = {os.path.realpath(buffer.path) for buffer in state.buffers.values() if buffer.on_disk}
        view.folder_files = folder_files
        view.beside = [source for source in on_disk if os.path.realpath(source.path) not in opened]
        others = [b for b in state.buffers.values() if b not in requested and _below(b.path, root)]
        view.beside += [b.source for b in others if not exclude.match(b.path)]
        return view

    def _repository(self, session: Session, root: str) -> tuple[list[Source], Choose | None, list[str]]:
        """The manifests of a repository as they are on disk, and the releases that its files state."""
        # What tells the place of a policy's key is another function whenever the configuration is read.
        key = (root, repr(session.settings._replace(policies=())))
        if key not in self._disk:
            found = discover([root], session.exclude, include=session.include)
            read_named_templates(found)
            self._disk[key] = (found.sources, session.choose(found), list_folder_files(found))
        return self._disk[key]

    def _setup(self, path: str | None, folder: str) -> Setup | None:
        """What a configuration says; while it cannot be used, what it said last, or what none says."""
        try:
            session = Session(config.load(path, {}), self._read)
            session.today = int(self._now().timestamp()) // 86400
            target = session.target(self._facts(session, folder))
            setup = Setup(session, session.rules, session.selection, target, session.known)
        except ConfigError as error:
            self._tell(str(error), path)
            if path is None or path in self._last_good:
                return self._last_good.get(path)
            return self._setup(None, folder)  # without any, the settings are those of no configuration
        self._last_good[path] = setup
        return setup

    def _facts(self, session: Session, folder: str) -> AwsFacts:
        """What is known of AWS; the very same for a while, so that what was said by it can be kept."""
        now = self._now()
        try:
            facts = session.facts(folder, lambda: now)[0]
        except cache.UnusableSnapshot as error:
            self._tell(str(error), session.settings.snapshot)
            return NOTHING
        key = folder, repr(session.settings._replace(policies=()))
        since, last = self._facts_known.get(key, (now, None))
        same = last is not None and last.snapshot is facts.snapshot and last.region is facts.region
        if last is not None and same and now - since < _A_WHILE:
            return last
        self._facts_known[key] = now, facts
        return facts

    def _read(self, path: str, read: Callable[[str], Any]) -> Any:
        """What a file or folder holds, read again only when it has changed."""
        mark = _mark(path)
        cached = self._kept.get(path)
        if cached is None or cached[0] != mark or mark is None:
            self._kept[path] = cached = (mark, read(path))
        return cached[1]

    def _tell(self, message: str, path: str | None = None) -> None:
        trouble = _trouble(message, path)
        if trouble not in self.troubles:
            self.troubles.append(trouble)


def _folder(buffer: Buffer, state: State) -> str:
    if buffer.on_disk:
        return os.path.dirname(buffer.path)
    return state.folders[0] if state.folders else os.getcwd()


def _workspace_folder(folder: str, folders: Iterable[str]) -> str | None:
    return max((workspace for workspace in folders if _below(folder, workspace)), key=len, default=None)


def _below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(os.path.join(folder, ""))


def _mark(path: str) -> object:
    """What changes when a file, or a file of a folder, does; None where that cannot be determined."""
    try:
        paths = [path, *(entry.path for entry in os.scandir(path))] if os.path.isdir(path) else [path]
        return tuple((p, s.st_mtime_ns, s.st_size) for p in sorted(paths) for s in [os.stat(p)])
    except OSError:
        return None


def _trouble(message: str, path: str | None) -> Gap:
    """A ConfigError's message names its file, and often a line and a column. No path: it is about no file."""
    place = FilePlace(path or "", 1, 1)
    if path is None or not message.startswith(path):
        return Gap(place, "file", message, fails=True)
    rest = message[len(path) :].lstrip(" ")
    placed = match(r":([0-9]+):([0-9]+): (.*)", rest)
    if placed:
        return Gap(FilePlace(path, int(placed[1]), int(placed[2])), "file", placed[3], fails=True)
    return Gap(place, "file", rest.removeprefix(":").strip(), fails=True)
