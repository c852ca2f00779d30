"""Installations of Karpenter's controller by commands of helm, in scripts, workflows and Terraform's provisioners."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import partial

from nodelint.files.file_kinds import is_readme
from nodelint.forms.lib.chart_commands import HELM_COMMAND, INSTALLS, find_commands, join_lines
from nodelint.forms.lib.chart_values import RepositoryTree, ValuesLayer, read_setting, read_setting_text
from nodelint.forms.lib.controller_install import ControllerFiles, make_install
from nodelint.forms.lib.values import merged
from nodelint.model.controller_settings import ControllerInstall
from nodelint.model.finding import Span
from nodelint.text import UNKNOWN, Node, Source
from nodelint.text.placeholders import holds_code, mask
from nodelint.text.syntax_errors import Unreadable
from nodelint.text.yaml.compose import compose

_WORD = re.compile(r"""(?:[^\s"'\\]|\\.|"(?:[^"\\]|\\.)*"|'[^']*')+""")
_PAIR = r"((?:[^\\=,{}]|\\.)+)=(\{[^{}]*\}|(?:[^\\,]|\\.)*)(?:,|\Z)"
_SETTERS = ("--set", "--set-string")
_FILES = ("-f", "--values")
_UNREAD = ("--set-file", "--set-literal", "--reuse-values", "--reset-then-reuse-values")
_HEREDOC = r"<<-?[ \t]*(['\"]?)(\w+)\1[^\n]*\n((?s:.{0,20000}?\n))[ \t]*\2[ \t]*(?:\n|\Z)"
_FOR_READERS = (".md", ".mdx", ".markdown", ".txt")


def find_installs(source: Source, files: ControllerFiles) -> Iterator[ControllerInstall]:
    """The installations by `helm install` and `helm upgrade` in a text."""
    if is_readme(source.path) or source.path.endswith(_FOR_READERS):
        return
    text, tree = join_lines(source.text), files.tree(source)
    for command in find_commands(text):
        begins = text.rfind("\n", 0, command.start()) + 1
        if "#" not in text[begins : command.start()] and re.match(INSTALLS, command[0]):
            yield _Command(source, text, command, tree).read()


class _Command:
    def __init__(self, source: Source, text: str, command: re.Match[str], tree: RepositoryTree | None) -> None:
        self._source = source
        self._tree = tree
        self._start = command.start()
        self._words = [(word[0], word.start()) for word in _WORD.finditer(text, command.start(), command.end())]
        self._is_complete = True

    def read(self) -> ControllerInstall:
        """Return the installation with the values of all files, and then of all settings, as helm takes them."""
        files: list[ValuesLayer] = []
        settings: list[ValuesLayer] = []
        version = ""
        index = 0
        while index < len(self._words):
            word, at = self._words[index]
            name, equals, value = word.partition("=")
            if not name.startswith("-"):
                # A variable that stands alone may hold any flags.
                self._is_complete &= not re.match(r"\"?\$", word)
                index += 1
                continue
            if name in (*_SETTERS, *_FILES, "--set-json", "--version") and not equals:
                index += 1
                value, at = self._words[index] if index < len(self._words) else ("", at)
            else:
                at += len(name) + 1
            if name in _SETTERS:
                settings += self._read_pairs(value, at, typed=name == "--set")
            elif name in _FILES:
                files += self._read_file(value, at)
            elif name == "--version":
                version = value.strip("\"'")
            elif name == "--set-json":
                settings += self._read_json(value, at)
            elif name in _UNREAD:
                self._is_complete = False
            index += 1
        where = Node(self._source, self._start, self._start, "mapping", "flow")
        found = make_install(where, HELM_COMMAND, version, [*files, *settings], self._is_complete)
        return found._replace(at=Span(self._source, self._start, self._start + len("helm upgrade")))

    def _read_pairs(self, word: str, at: int, typed: bool) -> Iterator[ValuesLayer]:
        """The values of one `--set a=b,c=d`."""
        quoted = word[:1] in ('"', "'") and word[-1:] == word[:1]
        inner = word[1:-1] if quoted else word
        start, position = at + quoted, 0
        while position < len(inner):
            pair = re.compile(_PAIR).match(inner, position)
            if pair is None:
                self._is_complete = False
                return
            name = Node(self._source, start + pair.start(1), start + pair.end(1), "scalar", "plain", pair[1])
            text = pair[2].strip("\"'")
            known = "$" not in text and "`" not in text and "{{" not in text
            value = Node(
                self._source,
                start + pair.start(2),
                start + pair.end(2),
                "scalar",
                "plain",
                text if known else UNKNOWN,
            )
            layer = read_setting(pair[1].strip("\"'"), name, value, typed)
            if layer is None:
                self._is_complete = False
            else:
                yield layer
            position = pair.end()

    def _read_file(self, word: str, at: int) -> Iterator[ValuesLayer]:
        """The values of a file, whose path is from the folder of the script or from the top of the repository."""
        path = word.strip("\"'")
        root = self._read_heredoc(path)
        if root is None and self._tree is not None and "$" not in path and "://" not in path:
            around = os.path.dirname(os.path.abspath(self._source.path))
            folders = (around, self._tree.home)
            name = Node(self._source, at, at + len(word), "scalar", "plain", path)
            root = next((root for folder in folders if (root := self._tree.read_values(folder, path, name))), None)
        if root is None:
            self._is_complete = False
            return
        yield ValuesLayer(root.source, partial(_merge_into, root))

    def _read_heredoc(self, path: str) -> Node | None:
        """Return the values that the script itself writes into a file, or gives the command as its input."""
        text = self._source.text
        if "<<" not in text:
            return None
        if path == "-":
            pattern, start, end = _HEREDOC, self._start, len(text)
        else:
            pattern, start, end = rf">[ \t]*[\"']?{re.escape(path)}[\"']?[ \t]*{_HEREDOC}", 0, self._start
        found = re.compile(pattern).search(text, start, end)
        if found is None:
            return None
        body = found[3]
        shown = body if found[1] or not holds_code(body) else mask(body)[0]
        try:
            roots = compose(self._source, shown, found.start(3), masked=shown is not body)
        except Unreadable:
            return None
        return roots[0] if len(roots) == 1 and roots[0] is not None and roots[0].kind == "mapping" else None

    def _read_json(self, word: str, at: int) -> Iterator[ValuesLayer]:
        """Yield the value of one `--set-json a='"b"'`, which is a scalar, a list or an object."""
        text = word[1:-1] if word[:1] == "'" == word[-1:] else word
        path, equals, json = text.partition("=")
        name = Node(self._source, at, at + len(word), "scalar", "double", path)
        value = read_setting_text(json.strip("'"), name) if equals and "$" not in json else None
        layer = read_setting(path, name, value, typed=False) if value is not None else None
        if layer is None:
            self._is_complete = False
        else:
            yield layer


def _merge_into(given: Node, whole: Node) -> Node:
    return merged(whole, given)
