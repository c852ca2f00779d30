"""Find installations of Karpenter's controller by `helm` commands in scripts, workflows and provisioners."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from itertools import islice

from nodelint.files.file_kinds import is_readme
from nodelint.forms.lib.chart_commands import HELM_COMMAND, INSTALLS, find_commands, join_lines
from nodelint.forms.lib.chart_values import RepositoryTree, ValuesLayer, merge_layer, read_setting, read_setting_text
from nodelint.forms.lib.controller_install import ControllerFiles, make_install
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
_WITH_A_WORD = (
    *("--set-json", "--version", "--set-file", "--set-literal", "-n", "--namespace", "--kube-context", "--repo"),
    *("--kubeconfig", "--timeout", "--history-max", "--description", "--post-renderer", "--output", "-o"),
    *("--username", "--password", "--ca-file", "--cert-file", "--key-file", "--keyring", "--kube-apiserver"),
)
_ALL_ARGUMENTS = re.compile(r"\"?\$(?:[@*]|\{(?:[@*]|\w+\[[@*]\])[^}]*\})\"?$")
_REDIRECTION = re.compile(r"\d?>")
_ALL_WORDS = ("helm", "upgrade", "NAME", "CHART")
_HEREDOC = r"<<-?[ \t]*+(['\"]?)(\w++)\1[^\n<]*+(?:<(?!<)[^\n<]*+)*+\n"
_LONGEST_HEREDOC, _MOST_HEREDOCS = 20_000, 20
_FOR_READERS = (".md", ".mdx", ".markdown", ".txt")


def find_installs(source: Source, files: ControllerFiles) -> Iterator[ControllerInstall]:
    """Yield the installations by `helm install` and `helm upgrade` in a text.

    In a README they are incomplete: people may add other flags.
    """
    for_readers = is_readme(source.path)
    if source.path.endswith(_FOR_READERS) and not for_readers:
        return
    text, tree = join_lines(source.text), files.tree(source)
    for command in find_commands(text):
        begins = text.rfind("\n", 0, command.start()) + 1
        if "#" not in text[begins : command.start()] and re.match(INSTALLS, command[0]):
            install = _read_install(HelmCommand(source, text, command.start(), command.end(), tree))
            yield install._replace(is_complete=False) if for_readers else install


def _read_install(command: HelmCommand) -> ControllerInstall:
    """Return the installation of Karpenter's controller by a `helm` command."""
    layers = command.read()
    source, start = command.source, command.start
    where = Node(source, start, start, "mapping", "flow")
    found = make_install(where, HELM_COMMAND, command.version, layers, command.unread is None)
    return found._replace(at=Span(source, start, start + len("helm upgrade")))


def _find_heredoc(text: str, pattern: str, start: int, end: int) -> tuple[int, int, bool] | None:
    """Return start and end of the first heredoc that matches a pattern, and whether its delimiter is quoted.

    None if there is none.
    """
    for begun in islice(re.compile(pattern).finditer(text, start, end), _MOST_HEREDOCS):
        last = min(end, begun.end() + _LONGEST_HEREDOC)
        closing = re.compile(rf"(?m)^[ \t]*+{re.escape(begun[2])}[ \t]*+$").search(text, begun.end(), last)
        if closing is not None:
            return begun.end(), closing.start(), bool(begun[1])
    return None


class HelmCommand:
    """A helm command in a text, from `start` to `end`.

    - `folders`: the folders to which its paths may be relative.
    - `unread`: after `read`, the first place of values that cannot be read.
    - `words`: the words that are not flags; the chart is one of them.
    """

    def __init__(
        self,
        source: Source,
        text: str,
        start: int,
        end: int,
        tree: RepositoryTree | None,
        folders: Sequence[str] = (),
    ) -> None:
        self.source = source
        self.start = start
        self.version = ""
        self.unread: Span | None = None
        self.words: list[str] = []
        self._tree = tree
        self._folders = folders
        self._words = [(word[0], word.start()) for word in _WORD.finditer(text, start, end)]

    def read(self) -> list[ValuesLayer]:
        """Return the values of all files, then those of all settings, as helm applies them."""
        files: list[ValuesLayer] = []
        settings: list[ValuesLayer] = []
        variables: list[tuple[str, int]] = []
        index = 0
        while index < len(self._words):
            word, at = self._words[index]
            name, equals, value = word.partition("=")
            if _REDIRECTION.match(word):
                break
            if not name.startswith("-"):
                self.words.append(word.strip("\"'"))
                variables += [(word, at)] if word.startswith("$") else []
                if _ALL_ARGUMENTS.match(word):
                    self._miss(word, at)
                index += 1
                continue
            if name in (*_SETTERS, *_FILES, *_WITH_A_WORD) and not equals:
                index += 1
                value, at = self._words[index] if index < len(self._words) else ("", at)
            else:
                at += len(name) + 1
            if name in _SETTERS:
                settings += self._read_pairs(value, at, typed=name == "--set")
            elif name in _FILES:
                files += self._read_file(value, at)
            elif name == "--version":
                self.version = value.strip("\"'")
            elif name == "--set-json":
                settings += self._read_json(value, at)
            elif name in _UNREAD:
                self._miss(word, at)
            index += 1
        if len(self.words) > len(_ALL_WORDS) and variables:
            self._miss(*variables[-1])  # a variable in addition to release and chart contains flags
        return [*files, *settings]

    def _miss(self, word: str, at: int, broken: Span | None = None) -> None:
        self.unread = self.unread or broken or Span(self.source, at, at + len(word))

    def _read_pairs(self, word: str, at: int, typed: bool) -> Iterator[ValuesLayer]:
        """Yield the values of one flag `--set a=b,c=d`."""
        quoted = word[:1] in ('"', "'") and word[-1:] == word[:1]
        inner = word[1:-1] if quoted else word
        start, position = at + quoted, 0
        while position < len(inner):
            pair = re.compile(_PAIR).match(inner, position)
            if pair is None:
                self._miss(word, at)
                return
            name = Node(self.source, start + pair.start(1), start + pair.end(1), "scalar", "plain", pair[1])
            text = pair[2].strip("\"'")
            known = "$" not in text and "`" not in text and "{{" not in text
            value = Node(
                self.source,
                start + pair.start(2),
                start + pair.end(2),
                "scalar",
                "plain",
                text if known else UNKNOWN,
            )
            path = pair[1].strip("\"'")
            # The shell turns two backslashes into one, except between single quotes.
            path = path if word[:1] == "'" else path.replace("\\\\", "\\")
            layer = read_setting(path, name, value, typed)
            if layer is None:
                self._miss(word, at)
            else:
                yield layer
            position = pair.end()

    def _read_file(self, word: str, at: int) -> Iterator[ValuesLayer]:
        """Yield the values of a file.

        Its path is relative to the folder of the script or to the top of the repository.
        """
        path = word.strip("\"'")
        root, broken = self._read_heredoc(path), None
        if root is None and self._tree is not None and "$" not in path and "://" not in path:
            around = os.path.dirname(os.path.abspath(self.source.path))
            folders = (*self._folders, around, self._tree.home)
            name = Node(self.source, at, at + len(word), "scalar", "plain", path)
            root = next((root for folder in folders if (root := self._tree.read_values(folder, path, name))), None)
            if root is None:
                broken = next(filter(None, (self._tree.find_broken(folder, path) for folder in folders)), None)
        if root is None:
            self._miss(word, at, broken)
            return
        yield merge_layer(root)

    def _read_heredoc(self, path: str) -> Node | None:
        """Return the values in a heredoc that the script writes to a file or passes on standard input.

        None if there is none.
        """
        text = self.source.text
        if "<<" not in text:
            return None
        if path == "-":
            pattern, start, end = _HEREDOC, self.start, len(text)
        else:
            pattern, start, end = rf">[ \t]*[\"']?{re.escape(path)}[\"']?[ \t]*{_HEREDOC}", 0, self.start
        found = _find_heredoc(text, pattern, start, end)
        if found is None:
            return None
        begin, stop, is_quoted = found
        body = text[begin:stop]
        shown = body if is_quoted or not holds_code(body) else mask(body)[0]
        try:
            roots = compose(self.source, shown, begin, masked=shown is not body)
        except Unreadable:
            return None
        return roots[0] if len(roots) == 1 and roots[0] is not None and roots[0].kind == "mapping" else None

    def _read_json(self, word: str, at: int) -> Iterator[ValuesLayer]:
        """Yield the value of one flag `--set-json a='"b"'`: a scalar, a list or an object."""
        text = word[1:-1] if word[:1] == "'" == word[-1:] else word
        path, equals, json = text.partition("=")
        name = Node(self.source, at, at + len(word), "scalar", "double", path)
        value = read_setting_text(json.strip("'"), name) if equals and "$" not in json else None
        layer = read_setting(path, name, value, typed=False) if value is not None else None
        if layer is None:
            self._miss(word, at)
        else:
            yield layer
