"""The definition of a rule, and loading rules from a folder.

A rule is one file. Its name is the file's name; its Markdown docstring is its page; its only function marked with
`@rule` is a generator of findings. Rules import nodelint; nothing imports a rule. Of the bundled rules, a run loads
only those with an object to check: `data/rules.json` has their declarations, written by `tools/make_rule_pages.py`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, cached_property, partial
from types import MappingProxyType

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.data import DATA, shipped, table
from nodelint.model import manifest
from nodelint.model.finding import Safety, Severity
from nodelint.model.gap import Findings
from nodelint.model.manifest import Object
from nodelint.model.releases import Version, releases_match
from nodelint.rule.classification import FIRST_VERSION, Group, Tag
from nodelint.rule.context import Context
from nodelint.text import Source

if TYPE_CHECKING:
    from nodelint.model.fact_kinds import FactKind
    from nodelint.model.providers import Provider
    from nodelint.rule.suppressions import Suppression


class Option(NamedTuple):
    """A threshold of a rule: a keyword argument of its check, the default, and its meaning with its unit."""

    name: str
    default: int | float | str
    text: str

    @property
    def type(self) -> str:
        """Return the type of the option's values, as JSON Schema names it."""
        return {int: "integer", float: "number", str: "string"}[type(self.default)]


class Rule(NamedTuple):
    """A rule as loaded: `check` is called with each object of type `on`.

    `releases` is the range of Karpenter releases for which the rule runs. `gives_way_to` names rules with a better
    explanation of the same cause: if a place of their findings contains this one's, or touches what this one
    `covers`, this rule reports nothing unless it is more severe. `group` decides in which profiles the rule runs (see
    `Group`). `needs` are the kinds of AWS facts without which the rule cannot report anything: if none are available,
    the rule is reported as skipped. `providers` are the providers whose objects the rule checks. `renamed` are its
    former names: they still work in configuration, comments, flags and baselines. `subject` is one of `SUBJECTS`.
    `sources` are the sources of its claims (see `source_link`). `options` are its thresholds, which a configuration
    may set. `may_need` are kinds of facts without which it reports less. `mentions` are texts, such as the name of a
    field: the rule runs only if an object's document (the file, for a rule about files) contains one of them. Without
    `mentions` it always runs. `since` is the version of nodelint that introduced it, for the pages of bundled rules.
    `tags` are further properties (see `TAGS`). A `preview` rule is new, and runs only with `--preview`;
    `stable_since` is the version that made it stable, if that is not `since`. `cel` is an expression that is true for
    each stored object in which the check finds nothing by default: `nodelint policy` prints it.
    """

    name: str
    text: Callable[[], str]
    on: type[Object] | type[Source] | type[Suppression]
    severity: Severity
    fix: Safety | None
    releases: str
    gives_way_to: tuple[str, ...]
    group: Group
    check: Callable[..., Findings]
    needs: tuple[FactKind, ...] = ()
    providers: tuple[Provider, ...] = ("aws",)
    renamed: tuple[str, ...] = ()
    subject: str = ""
    sources: tuple[str, ...] = ()
    options: tuple[Option, ...] = ()
    may_need: tuple[FactKind, ...] = ()
    mentions: tuple[str, ...] = ()
    since: str = FIRST_VERSION
    tags: tuple[Tag, ...] = ()
    cel: str = ""
    preview: bool = False
    stable_since: str = ""

    @property
    def stable_version(self) -> str | None:
        """Return the version of nodelint since which the rule is stable. None for a preview."""
        return None if self.preview else self.stable_since or self.since

    @property
    def page(self) -> str:
        """Return the rule's page in Markdown with complete examples, without the good examples that only the fix
        makes.
        """
        return self.text()

    @property
    def summary(self) -> str:
        """Return the first line of the page."""
        return self.page.strip().partition("\n")[0]

    @property
    def names(self) -> tuple[str, ...]:
        """Return the name of the rule, and its former names."""
        return (self.name, *self.renamed)

    def applies_to(self, obj: Object) -> bool:
        """Return whether the rule checks an object, by its kind and its provider."""
        if obj.of_cluster and self.on is Object:
            return False
        return isinstance(obj, self.on) and obj.provider in self.providers

    def applies_to_release(self, release: Version) -> bool:
        """Return whether the rule runs for a Karpenter release."""
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
    renamed: Sequence[str] = (),
    subject: str = "",
    source: str | Sequence[str] = (),
    options: Mapping[str, str] = MappingProxyType({}),
    may_need: Sequence[FactKind] = (),
    mentions: Sequence[str] = (),
    since: str = FIRST_VERSION,
    tags: Sequence[Tag] = (),
    cel: str = "",
    preview: bool = False,
    stable_since: str = "",
) -> Callable[[Callable[..., Findings]], Rule]:
    """Return a decorator that makes a rule of a generator function. Its name and page are those of its file.

    Without a severity, rules of the group `correctness` report errors and all others warnings. `options` has the
    meaning of each keyword argument of the function, whose default is that of the option. Raise ValueError if a
    preview has `stable_since`.
    """
    if preview and stable_since:
        raise ValueError("a rule is a preview, or stable since a version; not both")
    grave = severity or ("error" if group == "correctness" else "warning")
    sources = (source,) if isinstance(source, str) else tuple(source)

    def make_rule(check: Callable[..., Findings]) -> Rule:
        ways, defaults = tuple(gives_way_to), getattr(check, "__kwdefaults__", None) or {}
        found = tuple(Option(name, defaults[name], text) for name, text in options.items())
        rest = tuple(needs), tuple(providers), tuple(renamed), subject, sources, found, tuple(may_need)
        made = *rest, tuple(mentions), since, tuple(tags), cel, preview, stable_since
        return Rule("", str, on, grave, fix, releases, ways, group, check, *made)

    return make_rule


def former_names(rules: Mapping[str, Rule]) -> dict[str, str]:
    """Return today's name of each rule by its former names. If a rule has such a name today, the name means this
    rule.
    """
    return {old: name for name, rule in rules.items() for old in rule.renamed if old not in rules}


def all_names(rules: Mapping[str, Rule], names: Iterable[str]) -> frozenset[str]:
    """Return names of rules together with the former names of these rules."""
    chosen = frozenset(names)
    return chosen | {old for old, name in former_names(rules).items() if name in chosen}


def with_options(rule: Rule, values: Mapping[str, object]) -> Rule:
    """Return the rule with other thresholds. The values must have the types of its options."""
    return rule._replace(check=partial(rule.check, **values)) if values else rule


_REPOSITORIES = {"provider": "aws/karpenter-provider-aws", "core": "kubernetes-sigs/karpenter"}


def source_link(source: str) -> tuple[str, str]:
    """Return the text and the URL of a source: a URL, or `core:pkg/file.go@v1.9.0:12`, a line of Karpenter's code.

    The repositories are `core` (kubernetes-sigs/karpenter) and `provider` (aws/karpenter-provider-aws). Raise
    ValueError for another form.
    """
    if re.fullmatch(r"https://[^ ]+", source):
        return source.removeprefix("https://"), source
    match = re.fullmatch(r"(core|provider):([\w./-]+)@(v[0-9.]+):([0-9]+)", source)
    if match is None:
        raise ValueError(f"neither an address nor `core:file@tag:line`: {source}")
    repository, path, tag, line = _REPOSITORIES[match[1]], *match.groups()[1:]
    return f"{repository} {path}@{tag}:{line}", f"https://github.com/{repository}/blob/{tag}/{path}#L{line}"


def load(folder: str) -> dict[str, Rule]:
    """Return the rules of a folder by name, in the order of their names.

    Raise ImportError if a file has no rule, more than one, or no page.
    """
    names = sorted(name.removesuffix(".py") for name in os.listdir(folder) if name.endswith(".py"))
    compiled = folder == bundled()  # a user's rule is often loaded again in the second in which it was saved
    return {name: _load(os.path.join(folder, f"{name}.py"), name, compiled) for name in names}


@cache
def load_bundled() -> dict[str, Rule]:
    """Return the bundled rules by name. A rule is loaded when it checks its first object, or when its page is read.

    If the content of a file differs from the index, the file is loaded at once: somebody is editing it. If a file is
    not newer than the index, or is installed, only its size is compared.
    """
    folder, index = bundled(), table("rules")["rules"]
    is_installed = os.path.dirname(folder) == os.path.dirname(DATA)  # unpacked with the index, before or after it
    written = os.stat(os.path.join(DATA, "rules.json")).st_mtime_ns
    with os.scandir(folder) as entries:
        files = {entry.name[:-3]: entry.stat() for entry in entries if entry.name.endswith(".py")}
    loaded: dict[str, Rule] = {}
    for name in sorted(files):
        path = os.path.join(folder, f"{name}.py")
        size, digest, *fields = index.get(name, (None, None))
        is_known = files[name].st_size == size
        if is_known and not is_installed and files[name].st_mtime_ns > written:
            is_known = content_hash(path) == digest
        loaded[name] = _declared(path, name, *fields) if is_known else _load(path, name, compiled=False)
    return loaded


def content_hash(path: str) -> int:
    """Return the CRC-32 of a file's content: fast, and enough to notice an edit."""
    from zlib import crc32

    with open(path, "rb") as file:
        return crc32(file.read())


def index(rules: dict[str, Rule], folder: str) -> dict[str, list[object]]:
    """Return the declarations of a folder's rules for `load_bundled`: the file's size and hash, and the fields of
    `_declared`.
    """
    return {
        name: [
            os.path.getsize(os.path.join(folder, f"{name}.py")),
            content_hash(os.path.join(folder, f"{name}.py")),
            rule.on.__name__,
            rule.severity,
            rule.fix,
            rule.releases,
            list(rule.gives_way_to),
            rule.group,
            list(rule.needs),
            list(rule.providers),
            list(rule.renamed),
            rule.subject,
            [list(option) for option in rule.options],
            list(rule.may_need),
            list(rule.mentions),
            list(rule.tags),
            *([rule.since, rule.stable_since, rule.preview] if _has_history(rule) else []),
        ]
        for name, rule in rules.items()
    }


def _has_history(rule: Rule) -> bool:
    """Return whether a rule is younger than nodelint, or is or was a preview. Only then the index has these
    fields.
    """
    return rule.preview or bool(rule.stable_since) or rule.since != FIRST_VERSION


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
    renamed: Sequence[str] = (),
    subject: str = "",
    options: Sequence[tuple[str, int, str]] = (),
    may_need: Sequence[FactKind] = (),
    mentions: Sequence[str] = (),
    tags: Sequence[Tag] = (),
    since: str = FIRST_VERSION,
    stable_since: str = "",
    preview: bool = False,
) -> Rule:
    check = _LazyCheck(path, name)
    ways, found = tuple(gives_way_to), tuple(Option(*option) for option in options)
    rest = tuple(needs), tuple(providers), tuple(renamed), subject, (), found, tuple(may_need), tuple(mentions)
    made = *rest, since, tuple(tags), "", preview, stable_since
    return Rule(name, check.read_page, _type(on), severity, fix, releases, ways, group, check, *made)


class _LazyCheck:
    """The check of a rule, whose file is loaded at the first call."""

    def __init__(self, path: str, name: str) -> None:
        self._path = path
        self._name = name

    @cached_property
    def rule(self) -> Rule:
        return _load(self._path, self._name)

    def __call__(self, obj: object, context: Context, **values: object) -> Findings:
        return self.rule.check(obj, context, **values)

    def read_page(self) -> str:
        return self.rule.page


def load_check(rule: Rule) -> Callable[..., Findings]:
    """Return the check function of a rule itself, for a run that calls it with many objects.

    Raise ImportError as `load` does.
    """
    return rule.check.rule.check if isinstance(rule.check, _LazyCheck) else rule.check


def is_loaded(rule: Rule) -> bool:
    """Return whether the file of a rule has been loaded, which happens for the first object that the rule checks."""
    return not isinstance(rule.check, _LazyCheck) or "rule" in vars(rule.check)


@cache
def _type(name: str) -> type[Object] | type[Source] | type[Suppression]:
    if name == "Source":
        return Source
    if name == "Suppression":
        from nodelint.rule.suppressions import Suppression

        return Suppression
    module = manifest
    if not hasattr(manifest, name):
        from nodelint.model import cluster_objects as module  # type: ignore[no-redef]
    found: type[Object] = getattr(module, name)
    return found


def _load(path: str, name: str, compiled: bool = True) -> Rule:
    """Return the rule of a file. Without `compiled` no cached bytecode is used, because it may be older text of the
    same second.

    Raise ImportError if the file has no rule, more than one, or no page.
    """
    # Imported here: a run without Karpenter objects loads no rule.
    from importlib.machinery import SourceFileLoader
    from types import ModuleType

    module = ModuleType("nodelint_rule_" + name.replace("-", "_"))
    module.__file__ = path
    loader = SourceFileLoader(module.__name__, path)
    code = loader.get_code(module.__name__) if compiled else loader.source_to_code(loader.get_data(path), path)
    if code is None:
        raise ImportError(f"{path}: could not be read")
    exec(code, module.__dict__)
    found = [value for value in vars(module).values() if isinstance(value, Rule)]
    page = module.__doc__ or _docstring(path)
    if len(found) != 1 or not page:
        raise ImportError(f"{path}: a rule file holds one function marked with @rule, and a docstring")
    return found[0]._replace(name=name, text=partial(_whole_page, page))


def _whole_page(page: str) -> str:
    # Imported here: only a run that prints a page needs the examples.
    from nodelint.rule.examples import whole_page

    return whole_page(page)


def _docstring(path: str) -> str | None:
    """Return the docstring of a file whose code has none: `python -OO` and PYTHONOPTIMIZE=2 remove docstrings."""
    import ast

    with open(path, "rb") as file:
        return ast.get_docstring(ast.parse(file.read()), clean=False)


def bundled() -> str:
    """Return the folder of the bundled rules."""
    return shipped("rules")
