"""Laws of fixes: what a fix takes away is the cause, and not the finding alone; and no object is made twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from itertools import product

import pytest

from nodelint.edits import apply
from nodelint.karpenter import resolve
from nodelint.lint.autofix import fix
from nodelint.lint.engine import LintRequest, Selection, Target, lint
from nodelint.model.documents import objects
from nodelint.model.manifest import EC2NodeClass, NodePool, Object
from nodelint.model.releases import NEWEST, Version
from nodelint.report.page import target_of
from nodelint.rule.context import Context
from nodelint.rule.definition import Rule, bundled, load
from nodelint.rule.examples import examples
from nodelint.text import Source

RULES = load(bundled())

CLASS = """\
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {{name: default}}
spec:
  role: KarpenterNodeRole-main
  amiFamily: {family}
  amiSelectorTerms: [{{{term}}}]
  subnetSelectorTerms: [{{tags: {{karpenter.sh/discovery: main}}}}]
  securityGroupSelectorTerms: [{{tags: {{karpenter.sh/discovery: main}}}}]
"""
POOL = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {{name: default}}
spec:
  limits: {{{limits}}}
  template:
    spec:
      expireAfter: Never
      nodeClassRef: {{group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}}
      requirements: [{lines}]
"""
TERMS = (
    ("AL2", "alias: al2@v20240928"),
    ("AL2", "alias: al2@latest"),
    ("AL2023", "alias: al2023@v20250101"),
    ("Bottlerocket", "alias: bottlerocket@latest"),
    ("AL2023", "name: amazon-eks-node-al2023-arm64-standard-1.31-v20250403"),
    ("AL2023", "id: ami-0a1b2c3d4e5f60718"),
)
LINES = (
    ("kubernetes.io/arch", "amd64, arm64"),
    ("kubernetes.io/arch", "arm64"),
    ("karpenter.k8s.aws/instance-family", "g5g, m7g, m7i"),
    ("karpenter.k8s.aws/instance-category", "'c,m', g"),
    ("node.kubernetes.io/instance-type", "g5g.xlarge, inf2.xlarge"),
)
LIMITS = ("", "cpu: 1", "cpu: 1000, memory: 1600")
VERSIONS = ("1.2.1", "1.3.3", "1.14.1")


def worlds() -> Iterator[tuple[str, Target]]:
    """All bad examples, and pools and classes of many kinds."""
    for rule in RULES.values():
        for example in examples(rule.page):
            if not example.good and example.facts is None:
                yield example.text, target_of(example)
    for (family, term), (key, values), limits, version in product(TERMS, LINES, LIMITS, VERSIONS):
        line = f"{{key: {key}, operator: In, values: [{values}]}}"
        text = POOL.format(limits=limits, lines=line) + "---\n" + CLASS.format(family=family, term=term)
        yield text, Target(Version.parse(version))


@cache
def flagged_worlds() -> dict[str, list[tuple[str, Target]]]:
    """The worlds in which each rule that has a cause speaks: where it says nothing, there is nothing to fix."""
    found: dict[str, list[tuple[str, Target]]] = {name: [] for name in CAUSES}
    for text, target in worlds():
        request = LintRequest(target, RULES, Selection(frozenset(CAUSES)))
        results = lint([Source.from_text("a.yaml", text)], request).results
        for name in {result.rule.name for result in results if result.rule.name in CAUSES}:
            found[name].append((text, target))
    return found


Cause = Callable[[NodePool, Context], bool]


def _pinned(pool: NodePool, context: Context) -> bool:
    """Nothing ever replaces the image: written by id, and no node expires or may drift."""
    node_class, spec = context.node_class(pool), pool.node.find("spec", "template", "spec")
    terms = node_class.ami_terms if node_class is not None else ()
    budgets = pool.node.find("spec", "disruption", "budgets")
    contents = budgets is not None and any(item.get("schedule") is None for item in budgets.items)
    never = spec is not None and (at := spec.get("expireAfter")) is not None and at.value == "Never"
    return (bool(terms) and all(term.id for term in terms)) or (never and contents)


def _too_small(pool: NodePool, context: Context) -> bool:
    resolution = context.resolution(pool)

    def fits(name: str) -> bool:
        has = [(resolution.capacity.amount(limit.resource, name), limit.amount) for limit in resolve.limits(pool)]
        return all(own is None or most is None or own <= most for own, most in has)

    return bool(resolution.candidates) and not any(map(fits, context.catalog.names_in(resolution.candidates)))


CAUSES: dict[str, Cause] = {
    "undiscovered-memory": lambda pool, context: bool(context.resolution(pool).image_mixups.types),
    "gpu-image-gap": lambda pool, context: any(g.kind == "variant" for g in context.resolution(pool).unlaunchable),
    "image-arch-mismatch": lambda pool, context: any(g.kind == "arch" for g in context.resolution(pool).unlaunchable),
    "too-few-values": lambda pool, context: not all(value.met for value in context.resolution(pool).min_values),
    "no-instance-type": lambda pool, context: not context.resolution(pool).candidates,
    "unknown-value": lambda pool, context: any(
        line.operator == "In" and "," in value for line in context.resolution(pool).lines for value in line.values
    ),
    "never-patched": _pinned,
    "limit-too-small": _too_small,
}
"""What makes each of these rules speak, asked of the objects in another way than the rule does."""


def causes(text: str, target: Target, cause: Cause) -> int:
    found: list[Object] = list(objects(Source.from_text("a.yaml", text)))
    context = Context(found, target)
    return sum(cause(pool, context) for pool in found if isinstance(pool, NodePool) and not pool.foreign)


@pytest.mark.slow
@pytest.mark.parametrize("name", CAUSES)
def test_where_a_finding_is_gone_its_cause_is_gone(name: str) -> None:
    tried = 0
    selection = Selection(frozenset({name}))
    for text, target in flagged_worlds()[name][::3]:
        source = Source.from_text("a.yaml", text)
        done = fix([source], LintRequest(target, RULES, selection), unsafe=True)
        ways = [done.sources[0].text] if done.applied else []
        ways += [
            apply(text, way.edits)
            for result in lint([source], LintRequest(target, RULES, selection)).results
            if result.span.source is source
            for way in result.finding.suggestions
        ]
        for after in ways:
            if not lint([Source.from_text("a.yaml", after)], LintRequest(target, RULES, selection)).results:
                tried += 1
                assert not causes(after, target, CAUSES[name]), after
    assert tried


OLD = """\
apiVersion: karpenter.k8s.aws/v1alpha1
kind: AWSNodeTemplate
metadata: {name: default}
spec:
  instanceProfile: nodes
  amiFamily: AL2023
  subnetSelector: {karpenter.sh/discovery: main}
  securityGroupSelector: {karpenter.sh/discovery: main}
"""
NEW = CLASS.format(family="AL2023", term="alias: al2023@latest")
OTHER = OLD.replace("name: default", "name: other")


@pytest.mark.parametrize(
    ("files", "made"),
    [
        ({"a.yaml": OLD}, 1),
        ({"a.yaml": OLD + "---\n" + NEW}, 1),
        ({"a.yaml": OLD, "b.yaml": NEW}, 1),
        ({"a.yaml": OLD, "b.yaml": OLD}, 1),
        ({"a.yaml": OTHER, "b.yaml": NEW}, 2),
        ({"dev/a.yaml": OLD, "prod/a.yaml": NEW}, 2),
    ],
)
def test_no_object_is_made_twice(files: dict[str, str], made: int) -> None:
    sources = [Source.from_text(path, text) for path, text in files.items()]
    done = fix(sources, LintRequest(Target(NEWEST), RULES), unsafe=True)
    classes = [obj for source in done.sources for obj in objects(source) if isinstance(obj, EC2NodeClass)]
    assert len(classes) == made
    folders = Counter((node_class.source.path.rpartition("/")[0], node_class.name) for node_class in classes)
    assert set(folders.values()) == {1}


def test_why_it_is_left_is_told(rules: dict[str, Rule]) -> None:
    (refused,) = fix(
        [Source.from_text("a.yaml", OLD + "---\n" + NEW)], LintRequest(Target(NEWEST), rules), unsafe=True
    ).refused
    assert refused[1] == "there would be two objects EC2NodeClass/default"


NOTED = """\
  # Amazon Linux 2, as the others
  amiFamily: AL2 # golden-al2 is not AL2
  # al2 at latest
  amiSelectorTerms: [{alias: al2@latest}] # al2
"""


def test_comments_beside_an_alias_name_the_new_family() -> None:
    line = "{key: karpenter.k8s.aws/instance-family, operator: In, values: [g5g]}"
    old = CLASS.format(family="AL2", term="alias: al2@latest").replace(
        "  amiFamily: AL2\n  amiSelectorTerms: [{alias: al2@latest}]\n", NOTED
    )
    text = POOL.format(limits="", lines=line) + "---\n# AL2 above\n" + old
    done = fix(
        [Source.from_text("a.yaml", text)],
        LintRequest(Target(NEWEST), RULES, Selection(frozenset({"gpu-image-gap"}))),
        unsafe=True,
    )
    assert done.sources[0].text == text.replace(
        NOTED,
        NOTED.replace("Linux 2,", "Linux 2023,")
        .replace("AL2 #", "AL2023 #")
        .replace("not AL2", "not AL2023")
        .replace("# al2", "# al2023")
        .replace("alias: al2@", "alias: al2023@"),
    )
