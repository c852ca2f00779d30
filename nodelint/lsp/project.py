"""The open texts with the repositories around them, grouped into views that can be judged.

All code here runs on one thread and on texts that do not change; the server passes a new `State` for each change.
Configuration, snapshot and other manifests are read by the functions of the command.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from re import match
from typing import Any

from nodelint.config import settings as config
from nodelint.config.file import ConfigError
from nodelint.config.release_selection import Choose
from nodelint.config.session import Session
from nodelint.ec2 import cache
from nodelint.ec2.facts import NOTHING, AwsFacts
from nodelint.files.discover import discover
from nodelint.files.gate import gate
from nodelint.files.safe_read import is_below, repository, stand_in
from nodelint.forms.registry import TABLE
from nodelint.inventory import list_folder_files, read_named_templates
from nodelint.lint.fingerprints import Known
from nodelint.lint.incremental import ResultCaches
from nodelint.lsp.buffers import Buffer, State
from nodelint.lsp.view import Setup, View
from nodelint.model.gap import FilePlace, Gap
from nodelint.text import Source
from nodelint.text.incremental import move

_SETTINGS = (*config.FILES, "pyproject.toml")

_A_WHILE = timedelta(minutes=1)
"""The time for which the age of the facts is not read again."""


class Project:
    """Makes the view of an open file from the texts that are open in the editor, and caches facts and results between
    edits.

    `now` returns the time in UTC. `pause` is called between judged objects, and may raise an exception to end the
    run.
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
        """Load the modules and data that the first text needs."""
        pool = "apiVersion: karpenter.sh/v1\nkind: NodePool\nspec: {template: {spec: {requirements: []}}}\n"
        session = Session(config.Settings())
        setup = Setup(session, session.rules, session.selection, session.target())
        view = View(setup, [Buffer("untitled:warm", 0, pool, "utf-16")], "")
        _ = view.report

    def views(self, state: State) -> list[View]:
        """Return the views of a state; afterwards, `troubles` contains faults such as an invalid configuration."""
        before = self._state
        if before is not None and before.number == state.number:
            return self._views
        if before is None or before.disk != state.disk or before.folders != state.folders:
            self._disk.clear()
            TABLE.forget()
        self.troubles = []
        # A configuration counts once it is saved: half of a new line would be an error at each key press.
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
                view.memory, view.known_fingerprints = self._memories.setdefault((path, root), (ResultCaches(), {}))
                self._views.append(next((old_view for old_view in old if old_view.same_as(view)), view))
        self._state = state
        return self._views

    def _read_texts(self, state: State) -> set[int]:
        """Parse new and changed texts. Return the ids of the sources that were kept and got a changed text."""
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
        """Return the view of an open text; None if the text is excluded, or its configuration is not valid."""
        for view in self.views(state):
            for buffer in view.buffers:
                if buffer.uri == uri:
                    return view, buffer
        return None

    def _view(self, setup: Setup, buffers: list[Buffer], root: str | None, folder: str, state: State) -> View:
        exclude = setup.session.settings.paths_left_out
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
        others = [b for b in state.buffers.values() if b not in requested and is_below(b.path, root)]
        view.beside += [b.source for b in others if not exclude.match(b.path)]
        return view

    def _repository(self, session: Session, root: str) -> tuple[list[Source], Choose | None, list[str]]:
        """Return the manifests of a repository on disk, a function for their releases, and the overlays and similar
        files.
        """
        # What tells the place of a policy's key is another function whenever the configuration is read.
        key = (root, repr(session.settings._replace(policies=())))
        if key not in self._disk:
            found = discover([root], session.settings.paths_left_out, include=session.settings.paths_read_too)
            read_named_templates(found)
            self._disk[key] = (found.sources, session.choose(found), list_folder_files(found))
        return self._disk[key]

    def _setup(self, path: str | None, folder: str) -> Setup | None:
        """Return the setup of a configuration; while it is not valid, the last valid one, or that without a
        configuration.
        """
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
        """Return the facts from AWS.

        The same object is returned for a minute, so that results which depend on it can be cached.
        """
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
        """Return the result of `read` for a file or folder, cached until it changes."""
        stamp = _stamp(path)
        cached = self._kept.get(path)
        if cached is None or cached[0] != stamp or stamp is None:
            self._kept[path] = cached = (stamp, read(path))
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
    return max((workspace for workspace in folders if is_below(folder, workspace)), key=len, default=None)


def _stamp(path: str) -> object:
    """Return a value that changes when a file, or a file of a folder, changes; None if it cannot be read."""
    try:
        paths = [path, *(entry.path for entry in os.scandir(path))] if os.path.isdir(path) else [path]
        return tuple((p, s.st_mtime_ns, s.st_size) for p in sorted(paths) for s in [os.stat(p)])
    except OSError:
        return None


def _trouble(message: str, path: str | None) -> Gap:
    """Return a gap for the message of a ConfigError, with the file, line and column in the message.

    Without `path` it is about no file.
    """
    place = FilePlace(path or "", 1, 1)
    if path is None or not message.startswith(path):
        return Gap(place, "file", message, fails=True)
    rest = message[len(path) :].lstrip(" ")
    placed = match(r":([0-9]+):([0-9]+): (.*)", rest)
    if placed:
        return Gap(FilePlace(path, int(placed[1]), int(placed[2])), "file", placed[3], fails=True)
    return Gap(place, "file", rest.removeprefix(":").strip(), fails=True)
