"""What a rule is, what it may ask, and how rules are loaded from a folder.

A rule is one file. Its name is the file's name; its Markdown docstring is its page; its one function,
marked with `@rule`, is a generator of findings. Rules import nodelint; nothing imports a rule.

Of the rules that come with nodelint a run loads those that it shows an object: what they declare stands in
`data/rules.json` too, which `tools/make_rule_pages.py` writes.
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
    """A threshold of a rule: a keyword argument of its check, the default there, and what it means, with its unit."""

    name: str
    default: int | float | str
    text: str

    @property
    def type(self) -> str:
        """The type of its values, as JSON Schema names it."""
        return {int: "integer", float: "number", str: "string"}[type(self.default)]


class Rule(NamedTuple):
    """A rule as loaded: `check` is called with each object of type `on`.

    `releases` is the range of Karpenter releases that the rule is about; for others it says nothing.
    `gives_way_to` names rules that explain the same cause better: where a place of theirs holds this
    one's, or meets what this one `covers`, this one is silent unless it is the graver one.
    `group` says whether it runs unless it is selected by name (see `Group`). `needs` are the kinds of facts from
    AWS without which the rule has nothing to say: where there are none at all, it is reported as skipped.
    `providers` are those whose objects it is shown. `renamed` are names that it had in earlier releases: they go on
    working in configuration, comments, flags and baselines. `subject` is one of `SUBJECTS`. `sources` say where what
    it claims can be read (see `source_link`). `options` are its thresholds, which a configuration may set.
    `may_need` are kinds of facts without which it says less. `mentions` are texts of which an object's document (the
    file, for a rule about files) holds one wherever the rule has anything to say of it, such as the field that it is
    about: where none is there, it is neither asked nor loaded. Without any, it is always asked. `since` is the
    version of nodelint that brought it, for the pages of those that come with nodelint. `tags` are what else is to be
    known of it where rules run (see `TAGS`). `preview` says that it is new, and reports in no run without
    `--preview`; `stable_since` is the version that made it stable, where that is not the one that brought it. `cel`
    is true of an object as the API server stores it wherever the check finds nothing by default: `nodelint policy`
    prints it.
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
        """The version of nodelint since which the rule is stable; None for a preview."""
        return None if self.preview else self.stable_since or self.since

    @property
    def page(self) -> str:
        """The rule's page, in Markdown, its examples whole; good ones that only the fix makes are left out."""
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
        """Whether the rule is shown an object: by its kind, and by its provider."""
        if obj.of_cluster and self.on is Object:
            return False
        return isinstance(obj, self.on) and obj.provider in self.providers

    def applies_to_release(self, release: Version) -> bool:
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
    """Make a rule of a generator function; its name and page are those of the file it stands in.

    Without a severity, rules of the group `correctness` report errors and all others warnings. `options` gives the
    meaning of each keyword argument of the function; its default there is the option's. Raise ValueError for
    a preview that is said to be stable.
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
    """Today's name of each rule by each name that it had before; a rule that bears such a name today keeps it."""
    return {old: name for name, rule in rules.items() for old in rule.renamed if old not in rules}


def all_names(rules: Mapping[str, Rule], names: Iterable[str]) -> frozenset[str]:
    """Names of rules with those that the same rules had before."""
    chosen = frozenset(names)
    return chosen | {old for old, name in former_names(rules).items() if name in chosen}


def with_options(rule: Rule, values: Mapping[str, object]) -> Rule:
    """Return the rule with other thresholds; the values are of the types of its options."""
    return rule._replace(check=partial(rule.check, **values)) if values else rule


_REPOSITORIES = {"provider": "aws/karpenter-provider-aws", "core": "kubernetes-sigs/karpenter"}


def source_link(source: str) -> tuple[str, str]:
    """Return the words and the address of a source: an address, or `core:pkg/file.go@v1.9.0:12`, a line of
    Karpenter's code.

    The repositories are `core` (kubernetes-sigs/karpenter) and `provider` (aws/karpenter-provider-aws). Raises
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

    Raises ImportError when a file holds no rule, more than one, or no page.
    """
    names = sorted(name.removesuffix(".py") for name in os.listdir(folder) if name.endswith(".py"))
    compiled = folder == bundled()  # a rule of one's own is often tried again within the second in which it was saved
    return {name: _load(os.path.join(folder, f"{name}.py"), name, compiled) for name in names}


@cache
def load_bundled() -> dict[str, Rule]:
    """Return the rules that come with nodelint, by name; one is loaded when it is shown an object or its page is
    read.

    A file whose content the index does not have is loaded at once: somebody is writing it. A file that is no newer
    than the index, or is installed, is only asked for its size.
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
    """Return the CRC-32 of a file's content: quick to work out, and enough to notice an edit."""
    from zlib import crc32

    with open(path, "rb") as file:
        return crc32(file.read())


def index(rules: dict[str, Rule], folder: str) -> dict[str, list[object]]:
    """Return what rules of a folder declare, for `load_bundled`: the file's size and hash, and the fields of
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
    """Whether a rule is younger than nodelint, or is or was a preview: the others leave it out of the index."""
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
    """The check of a rule that is loaded when it is first called."""

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
    """Return the function of a rule itself, for a run that calls it with many objects.

    Raise ImportError as `load` does.
    """
    return rule.check.rule.check if isinstance(rule.check, _LazyCheck) else rule.check


def is_loaded(rule: Rule) -> bool:
    """Whether the file of a rule has been loaded, as it is for the first object that the rule looks at."""
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
    """Return the rule of a file; without `compiled` no cached bytecode is used, which may be of the same second's
    last text.

    Raises ImportError when the file holds no rule, more than one, or no page.
    """
    # Imported here: a run that finds nothing of Karpenter's loads no rule.
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
    # Imported here: a run that prints no page lays no example over its frame.
    from nodelint.rule.examples import whole_page

    return whole_page(page)


def _docstring(path: str) -> str | None:
    """Return the docstring of a file whose code has none: `python -OO` and PYTHONOPTIMIZE=2 leave docstrings out."""
    import ast

    with open(path, "rb") as file:
        return ast.get_docstring(ast.parse(file.read()), clean=False)


def bundled() -> str:
    """Return the folder of the rules that come with nodelint."""
    return shipped("rules")
