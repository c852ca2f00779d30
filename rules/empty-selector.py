r"""A selector term finds no subnet, security group, capacity reservation or placement group in AWS.

If all terms for subnets, or all terms for security groups, find nothing, the class never becomes ready. Karpenter
then launches nothing for the NodePools of the class. The same applies to a missing placement group. This is an error.
A term that finds nothing next to terms that find something is a warning. A term for capacity reservations is a
warning as well, because Karpenter works without reservations.

If the facts from AWS contain a name that differs only in case or punctuation, the fix writes that name.

An id of another region or account finds nothing. A tag matches only if its key and value match exactly, including
case. In the value, `*` and `?` are wildcards. `*` alone matches any value of the key.

There is no fix: only the account knows which tags the subnets, security groups or reservations have.

```yaml facts
subnets:
  - {id: subnet-0a, zone: us-east-1a, zoneId: use1-az1, tags: {karpenter.sh/discovery: main}}
  - {id: subnet-0b, zone: us-east-1b, zoneId: use1-az2, tags: {karpenter.sh/discovery: main}}
securityGroups:
  - {id: sg-0a, name: nodes, tags: {karpenter.sh/discovery: main}}
```

```yaml bad frame=class
spec.subnetSelectorTerms:
  - tags:
      karpenter.sh/discovery: Main
spec.securityGroupSelectorTerms:
  - tags:
      karpenter.sh/discovery: main
  - id: sg-0a1b2c3d4e5f60718
```

```yaml good frame=class
```

```yaml bad frame=class+class
---
metadata.name: gpu
spec.subnetSelectorTerms: [{tags: {karpenter.sh/Discovery: main}}]
```

In the next example two terms should find the same subnets, and the reservation has ended.

```yaml facts
subnets:
  - {id: subnet-0a, zone: us-east-1a, tags: {Name: main-private-a, kubernetes.io/cluster/main: shared}}
securityGroups:
  - {id: sg-0a, name: nodes, tags: {karpenter.sh/discovery: main}}
capacityReservations:
  - {id: cr-0a1b2c3d4e5f60718, type: p5.48xlarge, zone: us-east-1a, state: expired, tags: {team: ml}}
```

```yaml bad frame=class
spec.subnetSelectorTerms:
  - tags: {karpenter.sh/discovery: main}
  - tags: {Name: "main-nodes-*", "kubernetes.io/cluster/main": "*"}
spec.capacityReservationSelectorTerms:
  - tags: {team: ml}
```

```yaml good frame=bad
spec.subnetSelectorTerms:
  - tags: {Name: "main-private-*", "kubernetes.io/cluster/main": "*"}
spec.capacityReservationSelectorTerms: null
```
"""

from __future__ import annotations

from nodelint.api import (
    Also,
    AwsFacts,
    Context,
    EC2NodeClass,
    Edit,
    Finding,
    Findings,
    Skip,
    edits,
    messages,
    rule,
    selectors,
)

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any


@rule(
    on=EC2NodeClass,
    group="correctness",
    fix="unsafe",
    needs=("subnets", "security-groups"),
    subject="network",
    source=[
        "provider:pkg/controllers/nodeclass/subnet.go@v1.14.1:45",
        "provider:pkg/controllers/nodeclass/securitygroup.go@v1.14.1:45",
    ],
)
def check(node_class: EC2NodeClass, context: Context) -> Findings:
    facts, release = context.facts, context.karpenter
    selectors.check_region(context.pools(node_class), facts, "subnets")
    yield from _selector("subnet", selectors.subnets_of(node_class, facts), facts)
    yield from _selector("security group", selectors.groups_of(node_class, facts), facts)
    yield from _selector("available placement group", selectors.placements_of(node_class, facts, release), facts)
    yield from _selector(
        "active capacity reservation", selectors.reservations_of(node_class, facts, release), facts, needed=False
    )


def _selector(what: str, finds: selectors.Finds[Any], facts: AwsFacts, needed: bool = True) -> Findings:
    """Yield the findings about a selector; with `needed`, the class must select at least one `what`."""
    yield from finds.skips()
    yield from (Skip(t.node, f"a term for {what}s contains a placeholder") for t in finds.terms if t.is_open)
    if needed and finds.nothing:
        yield _nothing(what, finds, facts)
        return
    for term in (term for term in finds.terms if term.found == ()):
        yield Finding(
            at=term.place,
            message=_describe_term(what, term),
            severity="warning",
            edits=_edits(term, facts),
            help=_hint(what, term, facts),
        )


def _nothing(what: str, finds: selectors.Finds[Any], facts: AwsFacts) -> Finding:
    first, *others = finds.terms
    if not others:
        message = _describe_term(what, first)
    else:
        message = (
            f"none of the {len(finds.terms)} terms finds a {what}; the first is `{messages.short(first.description)}`"
        )
    return Finding(
        at=finds.at if others and finds.at is not None else first.place,
        message=message,
        edits=[] if others else _edits(first, facts),
        also=[Also(term.place, _describe_term(what, term)) for term in finds.terms] if others else (),
        note="the class never becomes ready",
        help=_hint(what, first, facts),
    )


def _describe_term(what: str, term: selectors.TermFinds[Any]) -> str:
    words = messages.short(term.description, 50)
    if term.selector_kind == "tags":
        return f"no {what} has {'the tag' if ', ' not in words else 'all of'} `{words}`"
    return f"there is no {what} {'named ' if term.selector_kind == 'name' else ''}`{words}`"


def _edits(term: selectors.TermFinds[Any], facts: AwsFacts) -> list[Edit]:
    """Return edits that correct the only misspelled tag or name to one that exists; empty if there is none."""
    meant = selectors.spelt_right(term.question, facts)
    if meant is None or term.question is None:
        return []
    wrong, right = set(term.question.filters) - set(meant.filters), set(meant.filters) - set(term.question.filters)
    if len(wrong) != 1 or len(right) != 1 or term.selector_kind == "id":
        return []
    (old_name, old), (new_name, new) = *wrong, *right
    if term.selector_kind == "name":
        node = term.node.get("name") or term.node
        return edits.if_editable(edits.set_value, node, new)
    tags = term.node.get("tags")
    entry = tags.entry(old_name.removeprefix("tag:")) if tags is not None and old_name != "tag-key" else None
    if entry is None:
        return []
    if old_name == new_name:
        return edits.if_editable(edits.set_value, entry.value, new)
    return edits.if_editable(edits.set_key, entry.key, new_name.removeprefix("tag:")) if old == new else []


def _hint(what: str, term: selectors.TermFinds[Any], facts: AwsFacts) -> str:
    region = facts.region.name if facts.region is not None else ""
    meant = selectors.spelt_right(term.question, facts)
    if meant is not None:
        return f"`{messages.short(selectors.describe_question(meant), 60)}` finds one"
    if term.selector_kind == "tags":
        return f"compare key and value, also their case, with the tags of the {what}s in {region}"
    return f"nodelint searched only {region} of the account that `nodelint refresh` asked"
