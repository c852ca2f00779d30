"""What scripts in user data do, whatever the AMI family: the cluster systems that they join, secrets, variables and
downloads.

Shell is split into words, quotes, comments and here documents, and searched. It is not executed. Patterns and names
are in `data/user_data.json`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property

from nodelint.base.tuples import NamedTuple
from nodelint.data import table
from nodelint.karpenter.userdata.custom import CustomUserData
from nodelint.model.manifest import EC2NodeClass
from nodelint.model.manifest_terms import text
from nodelint.text import Node

_TOKEN = (
    r"\\[\s\S]|<<<|(?P<single>'[^']*')|(?P<double>\")|(?P<comment>(?:(?<=[\s;(])|^)\#[^\n]*)"
    r"|<<-?[ \t]*(?P<quote>['\"\\]?)(?P<word>[A-Za-z_]\w*)['\"]?"
    r"|\$\{\#?(?P<braced>[A-Za-z_]\w*+)(?P<guard>[^}\n]{0,300})\}|\$(?P<plain>[A-Za-z_]\w*)|(?P<line>\n)"
)
_SETS = (
    r"(?m)(?:^|[\s;&|({\"'`])(?P<name>[A-Za-z_]\w*)(?:\[[^\]\n]{0,200}\])?\+?=|\bfor[ \t]+(?P<loop>\w+)[ \t\n]"
    r"|\b(?:read|mapfile|readarray)\b(?P<read>(?:[ \t]+(?:-[^\s;]*|[\w'\"$:,.]+))+)"
    r"|\bprintf[ \t]+-v[ \t]+(?P<print>\w+)"
    r"|\bgetopts[ \t]+\S+[ \t]+(?P<option>\w+)|\$\{(?P<default>[A-Za-z_]\w*):?="
)
_SETS_MORE = (
    r"(?m)(?:^|[;&|(]|\bthen|\bdo)[ \t]*(?:(?:builtin|sudo|command)[ \t]+)?(?:source|\.|eval)[ \t]"
    r"|\bset[ \t]+-[a-z]*a|\bexport[ \t]+\$|\bdeclare[ \t]+-n"
)
"""A pattern for scripts that read variables from other files: their variables may all be set."""
_JOINED_IN = r"\bbootstrap\.sh\b|\bnodeadm\b|\bkubelet\b|node\.eks\.aws|Start-EKSBootstrap"
_COMMANDS = ("shell", "plain", "cloud-config")


class Joining(NamedTuple):
    """A command that makes the node a member of another cluster system: the system's name, its providerIDs, start and
    end.

    `own` is true if Karpenter may recognise the nodes, because a cloud provider gives them a providerID.
    """

    name: str
    provider_id: str | None
    own: bool
    start: int
    end: int


class Secret(NamedTuple):
    """A secret in the text, or a variable that nothing in the script sets and whose value is therefore printed into
    the text. `name` is the variable.
    """

    what: str
    name: str | None
    start: int
    end: int


class ScriptAction(NamedTuple):
    """A command of a kind that `data/user_data.json` names: what it does, start and end."""

    what: str
    start: int
    end: int


class Use(NamedTuple):
    """A variable that a script reads, with start and end."""

    name: str
    start: int
    end: int


class _Shell(NamedTuple):
    """A script with blanks instead of the text that is not run, and the variables that it reads without a default."""

    code: str
    uses: tuple[Use, ...]


class Script(CustomUserData):
    """The commands in the user data of a class of any AMI family."""

    @cached_property
    def code(self) -> str:
        """Return the commands: the text with blanks instead of comments, here documents, settings and MIME
        headers.
        """
        return "".join(self._between)

    @cached_property
    def _between(self) -> list[str]:
        found, at = [], 0
        for part in self.parts:
            if part.kind in _COMMANDS:
                found.append(_blank(self.text[at : part.start]) + self._shells[part.start].code)
                at = part.end
        return [*found, _blank(self.text[at:])]

    @cached_property
    def _shells(self) -> dict[int, _Shell]:
        return {
            part.start: _shell(self.text[part.start : part.end], part.start)
            for part in self.parts
            if part.kind in _COMMANDS
        }

    @cached_property
    def unset(self) -> tuple[Use, ...]:
        """Return the variables that scripts read and never set, the first use of each. Empty if a script reads
        variables from other files.
        """
        if re.search(_SETS_MORE, self.code):
            return ()
        names = {*self._sets, *table("user_data")["shellVariables"]}
        found: dict[str, Use] = {}
        for part in self.parts:
            for use in self._shells[part.start].uses if part.kind in ("shell", "plain") else ():
                if use.name not in names and not use.name.startswith(("BASH_", "LC_")):
                    found.setdefault(use.name, use)
        return tuple(found.values())

    @cached_property
    def _sets(self) -> set[str]:
        found: set[str] = set()
        for match in re.finditer(_SETS, self.text):
            if match["read"] is not None:
                found.update(re.findall(r"[A-Za-z_]\w*", match["read"]))
            else:
                found.update(name for name in match.groupdict().values() if name)
        return found

    def joins(self) -> Joining | None:
        """Return the first command that makes the node a member of a cluster system that Karpenter does not know.
        None if there is none.
        """
        facts = table("user_data")
        if not self.code or re.search(facts["givesProviderID"], self.text):
            return None
        found = []
        for system in facts["joins"]:
            match = re.search(system["pattern"], self.code)
            if match is not None and (system["kubelet"] or not re.search(_JOINED_IN, self.text)):
                own = bool(system.get("own"))
                found.append(Joining(system["name"], system["providerID"], own, *match.span()))
        return min(found, key=lambda joining: joining.start, default=None)

    def downloads(self) -> list[ScriptAction]:
        """Return the commands that download files from the internet without pinning a version."""
        return self._find_actions("downloads")

    def waits(self) -> list[ScriptAction]:
        """Return the commands that delay the node before it joins its cluster."""
        join = min((call.start for call in self.calls()), default=len(self.text))
        return [action for action in self._find_actions("waits") if action.start < join]

    def _find_actions(self, kind: str) -> list[ScriptAction]:
        found: list[ScriptAction] = []
        for fact in table("user_data")[kind]:
            unless = fact.get("unless")
            for match in re.finditer(fact["pattern"], self.code):
                if unless is not None and re.search(unless, match[0]):
                    continue
                if not any(action.start < match.end() and match.start() < action.end for action in found):
                    found.append(ScriptAction(fact["what"], *match.span()))
        return found

    def secrets(self) -> list[Secret]:
        """Return the secrets in the text, in its order, without those that a script fetches when it runs."""
        facts = table("user_data")
        found: dict[int, Secret] = {}
        for fact in facts["secrets"]:
            for match in re.finditer(fact["pattern"], self.text):
                groups = match.groupdict()
                value = groups.get("value")
                if value is not None and not self._is_secret(value, facts["notSecret"]):
                    continue
                if not any(secret.start < match.end() and match.start() < secret.end for secret in found.values()):
                    found[match.start()] = Secret(fact["what"], groups.get("name"), *match.span())
        return [found[at] for at in sorted(found)]

    def _is_secret(self, value: str, never: str) -> bool:
        """Return whether a value is a secret: a literal, a template expression, or a variable that the script never
        sets.
        """
        variable = re.fullmatch(r"\$\{?([A-Za-z_]\w*)\}?", value)
        if variable is not None:
            return any(use.name == variable[1] for use in self.unset)
        if value.startswith("{{"):
            return True
        return not set("$`<%") & set(value) and re.fullmatch(never, value) is None


def script_of(node_class: EC2NodeClass) -> Script | None:
    """Return the scripts in the user data of a class. None without user data, and for a placeholder."""
    node = node_class.node.find("spec", "userData")
    written = text(node)
    if node is None or not isinstance(written, str) or not written.strip():
        return None
    found: Node = node
    return node_class.once("script", (), lambda: Script(found, str(written), None))


def _shell(body: str, base: int) -> _Shell:
    """Return a script's commands and the variables that they read. `base` is added to the offsets of the
    variables.
    """
    tokens = re.compile(_TOKEN, re.MULTILINE)
    quiet: list[tuple[int, int]] = []
    uses: list[Use] = []
    bodies: list[tuple[str, bool]] = []
    double, at = False, 0
    while (match := tokens.search(body, at)) is not None:
        at, kind = match.end(), match.lastgroup
        if double and kind in ("single", "comment", "word"):
            at = match.start() + 1
        elif kind == "double":
            double = not double
        elif kind == "comment":
            quiet.append(match.span())
        elif kind == "word":
            bodies.append((match["word"], bool(match["quote"])))
        elif kind in ("guard", "plain"):
            uses += _use(match, base)
        elif kind == "line" and bodies:
            for word, quoted in bodies:
                end = _end_of_document(body, at, word)
                quiet.append((at, end))
                for use in () if quoted else tokens.finditer(body, at, end):
                    uses += _use(use, base) if use.lastgroup in ("guard", "plain") else ()
                at = end
            bodies = []
    code, last = "", 0
    for start, end in quiet:
        code += body[last:start] + _blank(body[start:end])
        last = end
    return _Shell(code + body[last:], tuple(uses))


def _use(match: re.Match[str], base: int) -> Iterator[Use]:
    guard = match["guard"] or ""
    if not re.match(r":?[-=?+]", guard):
        yield Use(match["braced"] or match["plain"], base + match.start(), base + match.end())


def _end_of_document(body: str, at: int, word: str) -> int:
    found = re.compile(rf"^[ \t]*{word}[ \t]*$", re.MULTILINE).search(body, at)
    return len(body) if found is None else found.end()


def _blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)
