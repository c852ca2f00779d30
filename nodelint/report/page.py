"""The page of a rule in docs/rules/: its header, prose and examples with the real messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

from nodelint.ec2.facts import WORDS
from nodelint.ec2.fake_account import FakeAccount
from nodelint.forms.registry import TABLE
from nodelint.inventory import Inventory, build
from nodelint.lint.autofix import fix
from nodelint.lint.engine import LintRequest, Report, Selection, Target, lint
from nodelint.lint.proven_fixes import Prover
from nodelint.lint.results import Result
from nodelint.model.cluster_objects import PATTERN
from nodelint.model.manifest import EC2NodeClass
from nodelint.model.releases import NEWEST, KubernetesVersion
from nodelint.model.releases import target as parse_target
from nodelint.model.support import day_number
from nodelint.plan.fix_drift import find_moved
from nodelint.report.text import finding_text
from nodelint.rule.classification import PROFILES
from nodelint.rule.definition import Rule, source_link
from nodelint.rule.examples import FENCE, Example, example_pairs, split_files
from nodelint.rule.severities import list_severities
from nodelint.rule.suppressions import Suppression
from nodelint.text import Source


class ExampleError(ValueError):
    """Raised for an example that cannot be judged or fixed, with the reason."""


def header(rule: Rule, rules: Mapping[str, Rule]) -> str:
    """Return one line with severity, fix, releases, EKS Auto Mode, required facts, and whether the rule is on by
    default.
    """
    examples = (bad for bad, _ in example_pairs(rule.page))
    reports = (_judge_shown(bad, LintRequest(target_of(bad), rules, alone(rule))) for bad in examples)
    shown = [result for report in reports for result in report.results]
    *first, last = list_severities(rule, [result.severity for result in shown])
    severities = f"{', '.join(first)} or {last}" if first else last
    parts = [rule.group, *filter(None, [rule.subject]), f"severity: {severities}", f"fix: {_safeties(rule, shown)}"]
    parts.append("all releases of v1" if rule.releases == ">=1.0.0" else f"Karpenter {rule.releases}")
    if rule.needs:
        parts.append(f"needs from AWS: {', '.join(WORDS[kind] for kind in rule.needs)}")
    if rule.may_need:
        parts.append(f"reports more with facts from AWS: {', '.join(WORDS[kind] for kind in rule.may_need)}")
    if "auto-mode" in rule.providers:
        parts.append("also for EKS Auto Mode" if "aws" in rule.providers else "only for EKS Auto Mode")
    if rule.preview:
        parts.append("preview: runs with --preview only")
    if rule.group not in PROFILES["default"]:
        parts.append("off by default")
    return " · ".join(parts)


def _safeties(rule: Rule, shown: Sequence[Result]) -> str:
    """Return the safety of the rule's fixes: the usual one, and those that `nodelint check` prints for `shown`."""
    found = {result.safety for result in shown if result.fixable} | ({rule.fix} if rule.fix else set())
    return " or ".join(sorted(found)) or "none"


def read_example(text: str, path: str = "example.yaml") -> Inventory:
    """Return the inventory of an example, with its workloads.

    If the example has several files, overlays are rendered.
    """
    files = split_files(text) or {path: text}
    return build_example([Source.from_text(name, part, PATTERN) for name, part in files.items()])


def build_example(sources: Sequence[Source]) -> Inventory:
    """Return the inventory of an example's files, with rendered overlays and charts."""
    overlays = [source.path for source in sources if source.path.endswith(TABLE.names)]
    if any(source.path.endswith(TABLE.package_heads) for source in sources):
        from nodelint.files.example_folder import work_in_folder_with

        with work_in_folder_with({source.path: source.text for source in sources}):
            return build(sources, folder_files=overlays)
    return build(sources, folder_files=overlays) if overlays else Inventory(sources)


def options_table(rule: Rule) -> str:
    """Return the thresholds of a rule and how to configure them; empty if it has none."""
    if not rule.options:
        return ""
    rows = [f"| `{option.name}` | {option.type} | `{option.default}` | {option.text} |" for option in rule.options]
    example = f"rules:\n  {rule.name}:\n    {rule.options[0].name}: {rule.options[0].default}"
    table = "\n".join(["| option | type | default | |", "| --- | --- | --- | --- |", *rows])
    return f"## Options\n\nIn `nodelint.yaml`:\n\n```yaml\n{example}\n```\n\n{table}"


def sources_list(rule: Rule) -> str:
    """Return links to the sources of a rule; empty if it has none."""
    if not rule.sources:
        return ""
    links = [f"- [{words}]({address})" for words, address in map(source_link, rule.sources)]
    return "## Sources\n\n" + "\n".join(links)


def silence_text(rule: Rule) -> str:
    """Return how to suppress findings of a rule: at a place, for an object, for files, or everywhere."""
    settings = (
        f"In `nodelint.yaml`, `ignore: [{rule.name}]` turns the rule off, and "
        f'`per-path-ignores: {{"clusters/dev/**": [{rule.name}]}}` turns it off for some files.'
    )
    if rule.on is Suppression:
        return f"## Silence it\n\n{settings}"
    return (
        "## Silence it\n\nIf you accept the finding, add a comment with the reason: "
        f"`# nodelint: ignore[{rule.name}] <reason>`. At the end of a line it covers that line; on the line above an "
        f"object it covers the whole object. {settings}"
    )


def since_text(rule: Rule) -> str:
    """Return the nodelint versions in which the rule was added and became stable."""
    if rule.preview:
        return f"Since nodelint {rule.since}, as a preview: it reports only with `--preview`, and may still change."
    return f"Since nodelint {rule.since}. Stable since nodelint {rule.stable_version}."


def former_list(rule: Rule) -> str:
    """Return the former names of a rule as a sentence; empty if it has none."""
    names = ", ".join(f"`{name}`" for name in rule.renamed)
    return f"Former names, which still work: {names}." if names else ""


def sections(rule: Rule, shipped: bool = True) -> list[str]:
    """Return the sections after the prose of a page: options, sources, suppression, version and former names."""
    parts = [options_table(rule), sources_list(rule), silence_text(rule)]
    return [part for part in (*parts, since_text(rule) if shipped else "", former_list(rule)) if part]


@cache
def target_of(example: Example) -> Target:
    """Return the target of an example: the release in its fence, else the newest, and the facts of its account."""
    karpenter = parse_target(example.karpenter) if example.karpenter else NEWEST
    kubernetes = KubernetesVersion.parse(example.kubernetes) if example.kubernetes else None
    today = day_number(example.today) if example.today else None
    if example.facts is None:
        return Target(karpenter, kubernetes, today=today)
    classes = [obj for obj in read_example(example.text).objects() if isinstance(obj, EC2NodeClass)]
    facts = FakeAccount(example.facts).facts(classes, karpenter, kubernetes)
    return Target(karpenter, kubernetes, facts=facts, today=today)


def alone(rule: Rule) -> Selection:
    """Return a selection of only this rule; for a rule about suppressions all rules, because it needs their
    findings.
    """
    return Selection(select=None if rule.on is Suppression else frozenset({rule.name}), preview=rule.preview)


def fixed_text(text: str, example: Example, rule: Rule, rules: Mapping[str, Rule], name: str = "example.yaml") -> str:
    """Return the text after all fixes of a rule, in place of an example.

    Raise ExampleError for a fix that would break the file.
    """
    sources = read_example(text, name).files
    done = fix(sources, LintRequest(target_of(example), rules, alone(rule)), unsafe=True, judge=judge_example)
    if done.refused:
        raise ExampleError("; ".join(f"the fix is refused: {reason}" for _, reason in done.refused))
    return "".join(source.text for source in done.sources)


def judge_example(sources: Sequence[Source], request: LintRequest) -> Report:
    """Return the report on an example, with its overlays rendered."""
    return lint(sources, request, built=build_example(sources).built)


def page_with_fixes(rule: Rule, rules: Mapping[str, Rule], findings: bool = False) -> str:
    """Return the page of a rule with its good examples, also those that the fix makes, as diffs of the bad examples.

    With `findings`, the messages of the rule follow each bad example.
    """
    pairs = example_pairs(rule.page)
    written = ((bad, good) for bad, good in pairs if good is not None)
    parts, end, page, unseen = list[str](), 0, rule.page.strip(), iter(pairs)
    for match in FENCE.finditer(page):
        parts.append(page[end : match.start()])
        end = match.end()
        if match[1] == "good":
            bad, good = next(written, (None, None))
            parts.append(_good_fence(bad.text, good.text, match[2]) if bad and good else match[0])
            continue
        parts.append(match[0])
        if match[1] == "bad":
            bad, good = next(unseen)
            if findings:
                report = _judge_shown(bad, LintRequest(target_of(bad), rules, alone(rule)))
                text = "\n\n".join(finding_text(result) for result in report.results)
                parts.append(f"\n\n```text\n{text}\n```")
            if good is None and rule.fix:
                made = fixed_text(bad.text, bad, rule, rules)
                parts.append(f"\n\n{_good_fence(bad.text, made, match[2])}")
    return "".join([*parts, page[end:]])


def _judge_shown(example: Example, request: LintRequest) -> Report:
    """Return the report on an example, with the fixes that `nodelint check` offers."""
    inventory = read_example(example.text)
    report = lint(inventory.files, request, built=inventory.built)
    return Prover(request, build_example, find_moved).begin(inventory)(inventory.files, report)


def _good_fence(bad: str, good: str, options: str) -> str:
    """Return a good example as a diff that contains the complete bad example."""
    old, new = bad.splitlines(), good.splitlines()
    if old == new:
        return f"```yaml good{options}\n{good}```"
    from difflib import unified_diff  # imported here: only pages need it

    lines = list(unified_diff(old, new, lineterm="", n=max(len(old), len(new))))[3:]
    return "\n".join([f"```diff good{options}", *lines, "```"])


def markdown(rule: Rule, rules: dict[str, Rule]) -> str:
    """Return the generated page: name, header, prose, and examples with the messages of the rule."""
    first, _, rest = page_with_fixes(rule, rules, findings=True).partition("\n")
    rest += "".join(f"\n\n{part}" for part in sections(rule))
    return f"# {rule.name}\n\n{first}\n\n{header(rule, rules)}\n{rest.rstrip()}\n"
