"""Read statements of IAM policies from JSON, YAML, Terraform, and programs that create policies."""

from __future__ import annotations

import os
import re
from functools import lru_cache

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.files.gate import gate
from nodelint.model.finding import Span
from nodelint.text import Source

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nodelint.text import Node

_TOKEN = re.compile(r"""[{}()]|(?<![\w.])["']?(?i:(?:not_?)?actions?)["']?[ \t]*+[=:](?!=)[ \t]*+""")
_LIST = re.compile(r"""\[((?:[^\][]|\[[^\][]{0,100}\]){0,20000})\]|("[^"\n]{0,500}"|'[^'\n]{0,500}')""")
_RESOURCES = re.compile(r"""(?<![\w.])["']?(?i:(not_?)?resources?)["']?[ \t]*+[=:](?!=)[ \t]*+""")
_DENY = re.compile(r"""(?i)\beffect["']?\s*[=:]\s*["']?(?:iam\.)?(?:Effect\.)?deny\b""")
_TEXT = re.compile(r"""["']([^"'\n]*)["']""")
_BESIDE_TEXT = re.compile(r"""["'][^"'\n]*["']|(?:#|//)[^\n]*|[\s,+]""")
_NAMED_FILE = re.compile(r"""\b(?:template)?file\(\s*"(?:\$\{path\.module\}/|\./)?([\w./-]+\.json[\w.]*)\"""")
_LARGEST = 1 << 20
"""The most bytes of a policy in a separate file. IAM allows a few thousand."""
_CLOSES = {"}": "{", ")": "("}
_UNKNOWN = re.compile(r"[\w.]|\{\s*+[\"'](?:Ref|Fn::)")
"""The start of an expression, or of a function of CloudFormation."""
_ESCAPED_KEY = re.compile(r"""\\"(?:[Nn]ot)?[Aa]ction\\+"\s*+:""")
_ESCAPED_TEXT = re.compile(r"""(?<!\\)\\"([^"\\\n]*)\\"|(?<!\\)\\[nrt]""")


class Statement(NamedTuple):
    """A statement of an IAM policy.

    `actions` and `resources` may be patterns; they are None if not completely known.
    """

    at: Span
    """The place of the statement's actions."""
    text: str
    """The source text of the whole statement."""
    allows: bool
    actions: tuple[str, ...] | None
    resources: tuple[str, ...] | None

    def grants(self, action: str) -> bool | None:
        """Return whether the statement allows an action on some resource. None if that is not known."""
        if not self.allows:
            return False
        if self.actions is None:
            return None
        return _match(self.actions, action)

    def covers(self, kind: str) -> bool | None:
        """Return whether the statement covers EC2 resources of a kind, such as `launch-template`.

        None if that is not known.
        """
        if self.resources is None:
            return None
        found = [_is_of_kind(resource, kind) for resource in self.resources]
        return True if True in found else None if None in found else False


@lru_cache(maxsize=10_000)  # a rule asks the same of the same statements in each environment
def _match(patterns: tuple[str, ...], action: str) -> bool:
    """Return whether one of the actions of a policy, possibly with wildcards, matches an action."""
    for pattern in patterns:
        written = re.escape(pattern.lower()).replace(r"\*", ".*").replace(r"\?", ".")
        if re.fullmatch(written, action.lower()) is not None:
            return True
    return False


def list_statements(source: Source) -> Sequence[Statement]:
    """Return the statements of a file, in the order of the text."""
    return source.once(list_statements, lambda: tuple(_find(source)))


def named_policies(source: Source) -> Sequence[tuple[Span, Source]]:
    """Return (place of the name, policy) for each policy file that a Terraform file reads by name."""
    return source.once(named_policies, lambda: tuple(_read_named(source)))


def _read_named(source: Source) -> Iterator[tuple[Span, Source]]:
    if not source.path.endswith((".tf", ".tofu")):
        return
    for call in _NAMED_FILE.finditer(source.text):
        path = os.path.join(os.path.dirname(source.path), call[1])
        text = gate.load_text(os.path.normpath(path), _LARGEST)
        if text is not None:
            yield Span(source, *call.span()), Source(os.path.normpath(path), text)


def _find(source: Source) -> Iterator[Statement]:
    found = {statement.at.start: statement for statement in _in_braces(source)}
    for document in source.documents if source.path.endswith((".yaml", ".yml", ".template")) else ():
        for node in document.root.walk() if document.root is not None else ():
            statement = _of_node(node) if node.kind == "mapping" else None
            if statement is not None:
                found[statement.at.start] = statement
    yield from (found[start] for start in sorted(found))


def _unescape(source: Source) -> str | None:
    """Return the text of a file, with JSON inside of strings (`\\"Action\\": ...`) as plain JSON at the same offsets.

    None if a string has only a part of such JSON, or escapes it twice: its statements are not known then.
    """
    if 'ction\\"' not in source.text or _ESCAPED_KEY.search(source.text) is None:
        return source.text
    plain = _ESCAPED_TEXT.sub(lambda found: "  " if found[1] is None else f' "{found[1]}" ', source.text)
    return plain if '\\"' not in plain else None


def _in_braces(source: Source) -> Iterator[Statement]:
    """Yield the statements in braces or parentheses, as in JSON, Terraform and programs."""
    text = _unescape(source)
    if text is None:
        text = source.text
        for escaped in _ESCAPED_KEY.finditer(text):
            yield Statement(Span(source, *escaped.span()), escaped[0], True, None, None)
    opened: list[re.Match[str]] = []
    waiting: list[tuple[int, re.Match[str]]] = []
    for token in _TOKEN.finditer(text):
        sign = token[0]
        if sign in "{(":
            opened.append(token)
        elif sign in "})":
            while opened and opened[-1][0] != _CLOSES[sign]:
                opened.pop()
            if not opened:
                continue
            start = opened.pop().start()
            while waiting and waiting[-1][0] >= start:
                _, key = waiting.pop()
                statement = _of_text(source, text, (start, token.end()), key)
                if statement is not None:
                    yield statement
        elif opened:
            waiting.append((opened[-1].start(), token))


def _of_text(source: Source, whole: str, place: tuple[int, int], key: re.Match[str]) -> Statement | None:
    """Return the statement at a place of the text of a file. None if the key is of something else."""
    text, written = whole[slice(*place)], _LIST.match(whole, key.end())
    if written is None and not re.match(
        r"\w|\.|\{(?=[^{}]{0,500}\b(?:Ref|Fn::))", whole[key.end() : key.end() + 500]
    ):
        return None
    named = _list_texts(written)
    if named is not None and not any(":" in action or action == "*" for action in named):
        return None  # actions of another tool
    resources: tuple[str, ...] | None = ()
    for given in _RESOURCES.finditer(text):
        listed = _list_texts(_LIST.match(text, given.end()))
        resources = None if listed is None or resources is None or given[1] else (*resources, *listed)
    inverse = re.match(r"(?i)[\"']?not", key[0]) is not None
    end = written.end() if written is not None else key.end()
    return Statement(
        Span(source, key.start(), end),
        text,
        _DENY.search(text) is None,
        None if inverse else named,
        resources or None,
    )


def _list_texts(written: re.Match[str] | None) -> tuple[str, ...] | None:
    """Return the strings of a list, or a single string. None if it contains anything else."""
    if written is None:
        return None
    body = written[0] if written[2] else written[1]
    if _BESIDE_TEXT.sub("", body):
        return None
    return tuple(_TEXT.findall(re.sub(r"(?m)^[ \t]*(?:#|//)[^\n]*", "", body)))


def _of_node(node: Node) -> Statement | None:
    """Return the statement that a YAML mapping represents. None if it is not a statement."""
    entries = {str(entry.name).lower(): entry for entry in node.entries}
    given = entries.get("action") or entries.get("notaction")
    if given is None or not ("effect" in entries or "resource" in entries or "notresource" in entries):
        return None
    listed = given.value.items or [given.value]
    actions = [item.value for item in listed]
    known = "action" in entries and all(isinstance(action, str) for action in actions)
    known = known and not any((node.tag or "").startswith("!") for node in (given.value, *listed))  # `!Ref`, `!If`
    effect = entries.get("effect")
    resources = entries["resource"].value if "resource" in entries else None
    shown = [] if resources is None else resources.items or [resources]
    return Statement(
        Span(node.source, given.key.start, given.value.end),
        node.source.text[node.start : node.end],
        effect is None or str(effect.value.value).lower() != "deny",
        tuple(map(str, actions)) if known else None,
        tuple(node.source.text[item.start : item.end].strip("\"'") for item in shown) or None,
    )


def _is_of_kind(resource: str, kind: str) -> bool | None:
    """Return whether an ARN or a pattern matches resources of a kind. None if it contains a reference."""
    plain = re.sub(r"\$?\{[^{}]*\}", "_", resource)
    if plain.strip("*") == "":
        return True
    found = re.search(r":ec2:[^:]*:[^:]*:([\w*-]+)", plain)
    if found is None:
        return None if not plain.startswith("arn:") or "Ref" in plain or "GetAtt" in plain else False
    if "_" in found[1]:
        return None
    return re.fullmatch(re.escape(found[1]).replace(r"\*", ".*"), kind) is not None
