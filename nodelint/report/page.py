"""A rule's page: what the header says of it, and the page with the tool's real messages, for docs/rules/."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from nodelint.build import Inventory, build
from nodelint.ec2.facts import WORDS
from nodelint.ec2.fake_account import FakeAccount
from nodelint.lint.engine import DEFAULTS, Selection, Target, lint
from nodelint.lint.rule import PROFILES, Example, Rule, examples, source_link, split_files
from nodelint.lint.suppressions import Suppression
from nodelint.model.cluster_objects import PATTERN
from nodelint.model.manifest import EC2NodeClass
from nodelint.model.releases import NEWEST, KubernetesVersion
from nodelint.model.releases import target as parse_target
from nodelint.report.text import finding_text
from nodelint.source import Source
from nodelint.source.files.kustomizations import KUSTOMIZATIONS


def header(rule: Rule) -> str:
    """Severity, fix, releases, the facts without which it is mute and whether it is on, as one line."""
    parts = [rule.group, *filter(None, [rule.subject]), f"severity: {rule.severity}", f"fix: {rule.fix or 'none'}"]
    parts.append("all releases of v1" if rule.releases == ">=1.0.0" else f"Karpenter {rule.releases}")
    if rule.needs:
        parts.append(f"needs from AWS: {', '.join(WORDS[kind] for kind in rule.needs)}")
    if rule.may_need:
        parts.append(f"says more with facts from AWS: {', '.join(WORDS[kind] for kind in rule.may_need)}")
    if rule.group not in PROFILES["default"]:
        parts.append("off by default")
    return " · ".join(parts)


def read_example(text: str, path: str = "example.yaml") -> Inventory:
    """The text of an example as it is read, its workloads too; of several files overlays are built."""
    files = split_files(text) or {path: text}
    return build_example([Source.from_text(name, part, PATTERN) for name, part in files.items()])


def build_example(sources: Sequence[Source]) -> Inventory:
    """The files of an example, with the overlays among them built; a text alone is judged as it is written."""
    overlays = [source.path for source in sources if source.path.endswith(KUSTOMIZATIONS)]
    return build(sources, kustomizations=overlays) if overlays else Inventory(sources)


def options_table(rule: Rule) -> str:
    """The thresholds of a rule, and how a configuration sets them; empty where it has none."""
    if not rule.options:
        return ""
    rows = [f"| `{each.name}` | {each.type} | `{each.default}` | {each.text} |" for each in rule.options]
    example = f"rules:\n  {rule.name}:\n    {rule.options[0].name}: {rule.options[0].default}"
    table = "\n".join(["| option | type | default | |", "| --- | --- | --- | --- |", *rows])
    return f"## Options\n\nIn `nodelint.yaml`:\n\n```yaml\n{example}\n```\n\n{table}"


def sources_list(rule: Rule) -> str:
    """Where what a rule claims can be read; empty where it names nothing."""
    if not rule.sources:
        return ""
    links = [f"- [{words}]({address})" for words, address in map(source_link, rule.sources)]
    return "## Sources\n\n" + "\n".join(links)


def former_list(rule: Rule) -> str:
    """The names that a rule had before, as a sentence."""
    names = ", ".join(f"`{name}`" for name in rule.renamed)
    return f"Former names, which go on working: {names}." if names else ""


@cache
def target_of(example: Example) -> Target:
    """What an example is for: the newest known release where its fence names none, and its account's facts."""
    karpenter = parse_target(example.karpenter) if example.karpenter else NEWEST
    kubernetes = KubernetesVersion.parse(example.kubernetes) if example.kubernetes else None
    if example.facts is None:
        return Target(karpenter, kubernetes)
    classes = [obj for obj in read_example(example.text).objects() if isinstance(obj, EC2NodeClass)]
    return Target(karpenter, kubernetes, facts=FakeAccount(example.facts).facts(classes, karpenter, kubernetes))


def alone(rule: Rule) -> Selection:
    """The rule by itself; one that is about suppressions needs the others to have spoken."""
    return DEFAULTS if rule.on is Suppression else Selection(select=frozenset({rule.name}))


def markdown(rule: Rule, rules: dict[str, Rule]) -> str:
    """The generated page: name, header, prose and examples, each bad one with what the tool says of it."""
    page = rule.page.strip()
    said = []
    for number, example in enumerate((e for e in examples(page) if not e.good), 1):
        inventory = read_example(example.text)
        report = lint(inventory.files, target_of(example), rules, alone(rule), built=inventory.built)
        texts = "\n\n".join(finding_text(result) for result in report.results)
        said.append(f"Of bad example {number}:\n\n```text\n{texts}\n```")
    first, _, rest = page.partition("\n")
    rest += "".join(f"\n\n{part}" for part in (options_table(rule), sources_list(rule), former_list(rule)) if part)
    messages = "\n\n".join(said)
    return f"# {rule.name}\n\n{first}\n\n{header(rule)}\n{rest.rstrip()}\n\n## What nodelint says\n\n{messages}\n"
