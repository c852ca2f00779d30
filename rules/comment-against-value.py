r"""A comment states another duration, count or capacity type than the value on its line: `72h # = 720h`.

One of the two is wrong, and readers believe the comment. The rule reads only comments that state nothing else than
the value: a duration, or a count of nodes, percent or CPUs after the value; "spot only", "on-demand only" or "prefer
spot" next to the capacity type. It ignores comments about the past, a default or a choice. Only the author knows
which of the two is right.

```yaml bad frame=pool
spec.disruption:
  consolidationPolicy: WhenEmptyOrUnderutilized
  consolidateAfter: 5m
  budgets:
    - nodes: 100% # at most 10% at once
spec.template.spec.expireAfter: 72h # 30 days
spec.template.spec.requirements:
  - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]} # prefer spot
```

```yaml good frame=pool
spec.disruption:
  consolidationPolicy: WhenEmptyOrUnderutilized
  consolidateAfter: 5m
  budgets:
    - nodes: 10% # at most 10% at once
spec.template.spec.expireAfter: 720h # 30 days
spec.template.spec.requirements:
  - {key: karpenter.sh/capacity-type, operator: In, values: [spot, on-demand]} # prefer spot
```

The rule also reports a budget of 0 with a comment that says that nodes may go. A budget is the number of nodes that
Karpenter may disrupt at once, so 0 protects all nodes.

```yaml bad frame=pool
spec.disruption.budgets:
  - nodes: "0" # empty the pool at night
    schedule: "0 22 * * *"
    duration: 6h
  - nodes: "10%"
```

```yaml good frame=pool
spec.disruption.budgets:
  - nodes: "0" # keep all nodes in office hours
    schedule: "0 9 * * mon-fri"
    duration: 8h
  - nodes: "10%"
```

The rule also reports a bound whose comment includes the value. `Gt 4` with the comment "4 and newer" begins at 5.

`Gt` and `Lt` exclude their value. If a comment next to `Gt 4` says `4+`, `>= 4` or "4 or newer", or a comment next to
`Lt 8` says "up to 8", one of the two is wrong. Karpenter 1.9.0 and newer have `Gte` and `Lte`, which include the
value. The rule does not report a comment that also names the first included number, such as "5+ (Graviton starts at
gen 6)" next to `Gt 5`.

```yaml bad frame=pool
spec.template.spec.requirements:
  - {key: karpenter.k8s.aws/instance-category, operator: In, values: [c, m, r]}
  # generation 4 and newer
  - {key: karpenter.k8s.aws/instance-generation, operator: Gt, values: ["4"]}
```

```yaml good frame=bad
spec.template.spec.requirements:
  - {key: karpenter.k8s.aws/instance-category, operator: In, values: [c, m, r]}
  # generation 4 and newer
  - {key: karpenter.k8s.aws/instance-generation, operator: Gt, values: ["3"]}
```
"""

import re

from nodelint.api import (
    EVERY_PROVIDER,
    Context,
    Finding,
    Findings,
    Node,
    NodePool,
    Suggestion,
    comments,
    controller,
    edits,
    fixes,
    keys,
    labels,
    manifest,
    messages,
    rule,
)

WIDER = {
    "Gt": r"(?<![\w.><]){n}\s*(\+|(and|or)\s+(newer|later|above|higher|up|more|larger|bigger|greater)\b)"
    r"|(>=|≥|at least|minimum( of)?|min\.?)\s*{n}(?![\w.])",
    "Lt": r"(?<![\w.><]){n}\s*(and|or)\s+(older|below|lower|less|fewer|smaller)\b"
    r"|(<=|≤|at most|up to|maximum( of)?|max\.?)\s*{n}(?![\w.])",
}
"""Patterns, by operator, of comments that include the value (`{n}`) in a range, although the operator excludes it."""

UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
SUM = r"(?<!\d)\d{1,6} ?[*x] ?\d{1,6} ?[a-z]{0,8} ?="
"""A pattern of a calculation in a comment, such as `30 * 24h = 720h`."""

DURATION = r"(?<![\w.])(\d+)\s*(s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?|w|weeks?)(?![\w])"
COUNT = r"(?<![\w.])(\d+)\s*(%|percent)?(?![\w.])"
FILLING = frozenset(
    [
        "=",
        "==",
        "~",
        "a",
        "about",
        "after",
        "all",
        "approximately",
        "at",
        "be",
        "can",
        "cores",
        "cpu",
        "cpus",
        "disrupted",
        "e",
        "equals",
        "every",
        "expire",
        "expired",
        "expires",
        "for",
        "i",
        "ie",
        "in",
        "is",
        "limit",
        "limited",
        "limits",
        "live",
        "lives",
        "max",
        "maximum",
        "most",
        "node",
        "nodes",
        "of",
        "once",
        "only",
        "per",
        "pool",
        "recycle",
        "recycled",
        "replace",
        "replaced",
        "rotate",
        "rotated",
        "than",
        "that",
        "the",
        "time",
        "to",
        "total",
        "ttl",
        "up",
        "vcpu",
        "vcpus",
    ]
)
"""Words near a value in a comment that do not change its meaning."""

ELSEWHERE = r"\b(not?|never|n't|was|were|default|instead|todo|if|could|may|might|unless|before|used)\b|n't\b"
"""A pattern of comments that are about something else than the current value."""

SAYS = (
    (r"\bon[- ]demand only\b|\bonly on[- ]demand\b", "on-demand only", frozenset({"on-demand"})),
    (r"\bspot only\b|\bonly spot\b", "spot only", frozenset({"spot"})),
)
EMPTIES = (
    r"\bempt(?:y|ies)\s+(?:(?:the|this|all|every|each|whole|of)\s+){1,3}(?:nodes?\b|(?:node)?pools?\b)"
    r"|\b(?:drains?|removes?|terminates?|deletes?|scales?|shuts?|takes?|taken|tears?)\s+(?:down\s+)?"
    r"(?:(?:all|every|the whole|the entire)\s+(?:the\s+|of the\s+)?)(?:nodes?\b|(?:node)?pool\b)"
    r"|\b(?:pool|nodes)\s+(?:may|can|will|are to|is to)\s+be\s+(?:taken down|removed|drained|emptied|terminated)\b"
    r"|\bscales?\s+(?:the\s+\w+\s+)?(?:down\s+)?to\s+(?:zero|0)\b"
)
"""A pattern of comments on a budget of 0 that say that nodes are removed."""

KEEPS = (
    r"\b(not?|never|nothing|none|block\w*|prevent\w*|protect\w*|stop\w*|forbid\w*|avoid\w*|keep\w*|instead|unless)\b"
    r"|n't\b"
)
"""A pattern of comments that match `EMPTIES` but say the opposite."""

PREFERS_SPOT = r"\bprefer(s|red)? spot\b|\bspot (is )?preferred\b|\bspot first\b"


@rule(
    on=NodePool,
    group="hazard",
    gives_way_to=["no-instance-type", "invalid-field"],
    providers=EVERY_PROVIDER,
    mentions=["#"],
    subject="requirements",
    source=[
        "core:pkg/scheduling/requirement.go@v1.14.0:48",
        "https://karpenter.sh/docs/concepts/nodepools/",
    ],
    renamed=("bound-against-comment",),
)
def check(pool: NodePool, context: Context) -> Findings:
    if not pool.source.holds("#"):
        return
    yield from _bounds(pool)
    yield from _durations(pool)
    yield from _counts(pool)
    yield from _capacity(pool)
    yield from _zero_budgets(pool)


def _bounds(pool: NodePool) -> Findings:
    for line in pool.requirements:
        if line.operator not in WIDER or len(line.texts) != 1 or not line.texts[0].isdigit():
            continue
        number = int(line.texts[0])
        found = re.search(
            WIDER[str(line.operator)].replace("{n}", str(number)), comments.of_requirement(line), re.IGNORECASE
        )
        if found is None or not isinstance(line.key, str):
            continue
        begins = number + 1 if line.operator == "Gt" else number - 1
        if re.search(rf"(?<![\w.]){begins}(?![\w.%])", comments.of_requirement(line)):
            continue  # the comment names both: "5+ (Graviton starts at gen 6)" may mean what the value says
        meant = number - 1 if line.operator == "Gt" else number + 1
        comment = " ".join(found[0].split())
        end = "begins" if line.operator == "Gt" else "ends"
        changes = edits.if_editable(edits.set_value, line.values[0].node, str(meant)) if meant >= 0 else []
        yield Finding(
            at=line.values[0].node,
            message=f"the comment says `{comment}`, but `{line.operator} {number}` {end} at {begins}",
            help=f"write `{line.operator} {meant}` for {labels.name_of(line.key)}, or correct the comment",
            suggestions=[Suggestion(f"include {number}", changes)] if changes else [],
        )


def _durations(pool: NodePool) -> Findings:
    """Yield a finding for each duration that differs from the comment on its line."""
    spec = pool.node.get("spec")
    places = (("template", "spec", "expireAfter"), ("template", "spec", "terminationGracePeriod"))
    nodes = [spec.find(*path) for path in (*places, ("disruption", "consolidateAfter"))] if spec is not None else []
    budgets = pool.budgets_node
    nodes += [item.get("duration") for item in budgets.items] if budgets is not None else []
    for node in nodes:
        written = manifest.text(node)
        length = controller.seconds(written) if isinstance(written, str) else None
        comment = re.sub(SUM, "", _behind(node)) if node is not None and length is not None else ""
        found = _only(DURATION, comment) if comment else None
        if node is not None and found is not None and int(found[1]) * UNITS[found[2][0]] != length:
            yield _finding(node, found[0], str(written))


def _counts(pool: NodePool) -> Findings:
    """Yield a finding for each number of nodes or CPUs that differs from the comment on its line."""
    budgets, limits = pool.budgets_node, pool.limits_node
    nodes = [item.get("nodes") for item in budgets.items] if budgets is not None else []
    nodes += [limits.get(name) for name in ("cpu", "nodes")] if limits is not None else []
    for node in nodes:
        if node is None or not re.fullmatch(r"\d+%?", str(node.value)):
            continue
        found = _only(COUNT, _behind(node))
        if found is not None and found[1] + ("%" if found[2] else "") != str(node.value):
            yield _finding(node, found[0], str(node.value))


def _zero_budgets(pool: NodePool) -> Findings:
    """Yield a finding for each budget of 0 whose comment says that nodes are removed while it is active."""
    budgets = pool.budgets_node
    for item in budgets.items if budgets is not None else ():
        nodes = item.get("nodes")
        if nodes is None or str(nodes.value) not in ("0", "0%"):
            continue
        comment = comments.around(item.source.text, item.start, item.end)
        found = re.search(EMPTIES, comment.lower())
        if found is not None and not re.search(KEEPS, comment.lower()):
            yield Finding(
                at=fixes.visible_node(nodes),
                message=f"the comment says `{messages.short(found[0], 40)}`, but a budget of 0 lets Karpenter "
                "disrupt no node",
                severity="info",
                help="set the number of nodes that Karpenter may disrupt at once, or correct the comment",
            )


def _capacity(pool: NodePool) -> Findings:
    for line in pool.requirements:
        if line.key != keys.CAPACITY_TYPE or line.operator != "In" or not line.known or not line.values:
            continue
        comment = comments.of_requirement(line).lower()
        if re.search(ELSEWHERE, comment):
            continue
        for pattern, words, allowed in SAYS:
            if re.search(pattern, comment) and not set(line.texts) <= allowed:
                yield _finding(line.values_node, words, ", ".join(line.texts))
        if re.search(PREFERS_SPOT, comment) and "spot" not in line.texts:
            yield _finding(line.values_node, "prefer spot", ", ".join(line.texts))


def _finding(node: Node, words: str, written: str) -> Finding:
    return Finding(
        at=fixes.visible_node(node),
        message=f"the comment says `{messages.short(' '.join(words.split()), 30)}`, but the value is `{written}`",
        help="correct the comment or the value",
    )


def _behind(node: Node | None) -> str:
    """Return the comment at the end of a value's line; empty if there is none."""
    if node is None or node.kind != "scalar":
        return ""
    text = node.source.text
    end = text.find("\n", node.end)
    found = re.match(r"[\"'\]}, \t]*+(?<=\s)#+(.*)", text[node.end : end if end >= 0 else len(text)])
    return found[1].strip() if found else ""


def _only(pattern: str, comment: str) -> re.Match[str] | None:
    """Return the only match of a pattern in a comment. None if the comment has other words."""
    found = list(re.finditer(pattern, comment.lower()))
    if len(found) != 1:
        return None
    others = (comment[: found[0].start()] + " " + comment[found[0].end() :]).lower()
    return found[0] if set(re.findall(r"[\w=~]+", others)) <= FILLING else None
