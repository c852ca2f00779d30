"""What a rule is, what it may ask, and how rules are loaded from a folder.

A rule is one file. Its name is the file's name; its Markdown docstring is its page; its one function,
marked with `@rule`, is a generator of findings. Rules import nodelint; nothing imports a rule.

Of the rules that come with nodelint a run loads those that it shows an object: what they declare stands in
`data/rules.json` too, which `tools/make_rule_pages.py` writes.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from nodelint.caching import cache
from nodelint.data import shipped, table
from nodelint.lint.context import Context
from nodelint.model import manifest
from nodelint.model.finding import Findings, Safety, Severity
from nodelint.model.manifest import NodePool, Object
from nodelint.model.releases import Version, releases_match
from nodelint.source import Source
from nodelint.tuples import NamedTuple

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any, Literal

    from nodelint.lint.suppress import Suppression
    from nodelint.model.fact_kinds import FactKind
    from nodelint.model.providers import Provider

    Group = Literal["correctness", "hazard", "practice"]
    """What a rule is about.

    - `correctness`: the object is refused, never ready, cannot launch, or part of it is silently dropped.
    - `hazard`: it works, and will hurt: cost, outage, security, surprise.
    - `practice`: what a careful team decides once.
    """
else:
    Group = str

GROUPS: tuple[Group, ...] = ("correctness", "hazard", "practice")

PROFILES: dict[str, frozenset[Group]] = {
    "minimal": frozenset({"correctness"}),
    "default": frozenset({"correctness", "hazard"}),
    "strict": frozenset(GROUPS),
}
"""The groups that run by the name of a profile."""


class Rule(NamedTuple):
    """A rule as loaded: `check` is called with each object of type `on`.

    `releases` is the range of Karpenter releases that the rule is about; for others it says nothing.
    `gives_way_to` names rules that explain the same cause better: where a place of theirs holds this
    one's, or meets what this one `covers`, this one is silent unless it is the graver one.
    `group` says whether it runs unless it is selected by name (see `Group`). `needs` are the kinds of facts from
    AWS without which the rule has nothing to say: where there are none at all, it is reported as skipped.
    `providers` are those whose NodePools it is shown.
    """

    name: str
    text: Callable[[], str]
    on: type[Object] | type[Source] | type[Suppression]
    severity: Severity
    fix: Safety | None
    releases: str
    gives_way_to: tuple[str, ...]
    group: Group
    check: Callable[[Any, Context], Findings]
    needs: tuple[FactKind, ...] = ()
    providers: tuple[Provider, ...] = ("aws",)

    @property
    def page(self) -> str:
        """The rule's page, in Markdown."""
        return self.text()

    @property
    def summary(self) -> str:
        """The first line of the page."""
        return self.page.strip().partition("\n")[0]

    def is_about(self, obj: Object) -> bool:
        """Whether the rule is shown an object: by its kind, and of a NodePool by its provider."""
        return isinstance(obj, self.on) and (not isinstance(obj, NodePool) or obj.provider in self.providers)

    def speaks_of(self, release: Version) -> bool:
        """Whether the rule is about this release of Karpenter."""
        return releases_match(self.releases, release)


def rule(
    *,
    on: type[Object] | type[Source] | type[Suppression],
    group: Group,
    severity: Severity | None = None,
    fix: Safety | None = None,
    releases: str = ">=1.0.0",
    gives_way_to: Sequence[str] = (),
    needs: Sequence[FactKind] = (),
    providers: Sequence[Provider] = ("aws",),
) -> Callable[[Callable[[Any, Context], Findings]], Rule]:
    """Make a rule of a generator function; its name and page are those of the file it stands in.

    Without a severity, rules of the group `correctness` report errors and all others warnings.
    """
    grave = severity or ("error" if group == "correctness" else "warning")

    def made(check: Callable[[Any, Context], Findings]) -> Rule:
        ways = tuple(gives_way_to)
        return Rule("", str, on, grave, fix, releases, ways, group, check, tuple(needs), tuple(providers))

    return made


def load(folder: str) -> dict[str, Rule]:
    """The rules of a folder by name, in the order of their names.

    Raises ImportError when a file holds no rule, more than one, or no page.
    """
    names = sorted(name.removesuffix(".py") for name in os.listdir(folder) if name.endswith(".py"))
    return {name: _load(os.path.join(folder, f"{name}.py"), name) for name in names}


@cache
def load_bundled() -> dict[str, Rule]:
    """The rules that come with nodelint, by name; one is loaded when it is shown an object or its page is read.

    A file that the index does not have, or has with another size, is loaded at once: somebody is writing it.
    """
    folder, index = bundled(), table("rules")["rules"]
    with os.scandir(folder) as entries:
        sizes = {entry.name[:-3]: entry.stat().st_size for entry in entries if entry.name.endswith(".py")}
    loaded: dict[str, Rule] = {}
    for name in sorted(sizes):
        path = os.path.join(folder, f"{name}.py")
        known = name in index and index[name][0] == sizes[name]
        loaded[name] = _declared(path, name, *index[name][1:]) if known else _load(path, name)
    return loaded


def index(rules: dict[str, Rule], folder: str) -> dict[str, list[object]]:
    """What rules of a folder declare, for `load_bundled`: the size of the file, and the fields of `_declared`."""
    return {
        name: [
            os.path.getsize(os.path.join(folder, f"{name}.py")),
            rule.on.__name__,
            rule.severity,
            rule.fix,
            rule.releases,
            list(rule.gives_way_to),
            rule.group,
            list(rule.needs),
            list(rule.providers),
        ]
        for name, rule in rules.items()
    }


def _declared(
    path: str,
    name: str,
    on: str,
    severity: Severity,
    fix: Safety | None,
    releases: str,
    gives_way_to: list[str],
    group: Group,
    needs: list[FactKind],
    providers: list[Provider],
) -> Rule:
    kept: list[Rule] = []

    def loaded() -> Rule:
        if not kept:
            kept.append(_load(path, name))
        return kept[0]

    def check(subject: object, context: Context) -> Findings:
        return loaded().check(subject, context)

    def text() -> str:
        return loaded().page

    ways = tuple(gives_way_to)
    return Rule(name, text, _type(on), severity, fix, releases, ways, group, check, tuple(needs), tuple(providers))


@cache
def _type(name: str) -> type[Object] | type[Source] | type[Suppression]:
    if name == "Source":
        return Source
    if name == "Suppression":
        from nodelint.lint.suppress import Suppression

        return Suppression
    found: type[Object] = getattr(manifest, name)
    return found


def _load(path: str, name: str) -> Rule:
    # Imported here: a run that finds nothing of Karpenter's loads no rule.
    from importlib.machinery import SourceFileLoader
    from types import ModuleType

    module = ModuleType("nodelint_rule_" + name.replace("-", "_"))
    module.__file__ = path
    code = SourceFileLoader(module.__name__, path).get_code(module.__name__)
    if code is None:
        raise ImportError(f"{path}: could not be read")
    exec(code, module.__dict__)
    found = [value for value in vars(module).values() if isinstance(value, Rule)]
    page = module.__doc__ or _docstring(path)
    if len(found) != 1 or not page:
        raise ImportError(f"{path}: a rule file holds one function marked with @rule, and a docstring")
    return found[0]._replace(name=name, text=partial(str, page))


def _docstring(path: str) -> str | None:
    """The docstring of a file whose code has none: `python -OO` and PYTHONOPTIMIZE=2 leave docstrings out."""
    import ast

    with open(path, "rb") as file:
        return ast.get_docstring(ast.parse(file.read()), clean=False)


def bundled() -> str:
    """The folder of the rules that come with nodelint."""
    return shipped("rules")


class Example(NamedTuple):
    """A fenced manifest of a rule's page: `bad` or `good`, for the versions that its fence names.

    `facts` describes the AWS account in which it is judged (see `imagined`): the last fence "yaml facts" before it.
    """

    good: bool
    text: str
    karpenter: str | None = None
    kubernetes: str | None = None
    facts: str | None = None


_FENCE = r"(?ms)^```ya?ml +(bad|good|facts)([^\n]*)\n(.*?)^```"


def examples(page: str) -> Iterator[Example]:
    """The examples of a page in their order: fences such as "yaml bad karpenter=1.2.1 kubernetes=1.33"."""
    facts: str | None = None
    for kind, options, body in re.findall(_FENCE, page):
        if kind == "facts":
            facts = body
            continue
        words = dict(word.split("=", 1) for word in options.split())
        yield Example(kind == "good", body, words.get("karpenter"), words.get("kubernetes"), facts)
