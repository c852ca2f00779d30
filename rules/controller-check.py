r"""The API server accepts the object, but Karpenter's controller cannot work with it.

The API server checks types and patterns. The controller checks more when it reads the object: the values of labels,
duplicate taints, the schedules of budgets. The note of each finding says what happens. For most faults the NodePool
stays at `Ready: False` and launches nothing. With an invalid schedule it still launches nodes, but the controller
never disrupts one. An event names the cause, but few people read events.

```yaml bad frame=pool
spec.template.spec.taints:
  - {key: example.com/batch, value: small, effect: NoSchedule}
  - {key: example.com/batch, value: large, effect: NoSchedule}
```

```yaml good frame=bad
spec.template.spec.taints:
  - {key: example.com/batch, value: small, effect: NoSchedule}
```

```yaml bad frame=pool
spec.disruption:
  consolidateAfter: 5m
  budgets:
    - {nodes: 10%}
    - {nodes: "0", schedule: "0 8 * * 7", duration: 10h} # Sundays
```

The rule also reports a bound on a custom label that allows no whole number of 0 or more: such a bound crashes
the controller.

Karpenter sets a label on each node for every requirement on a custom label. If the requirement has no value,
Karpenter draws a random number between the bounds. If there is no such number, as for `Lt 0`, the controller crashes,
restarts, and crashes again at the same pool. No validation refuses such a bound. From 1.9.0 on, Karpenter draws the
number when it plans a node. Before 1.9.0 it draws the number after the launch, and `Gt 3` with `Lt 4` crashes it as
well.

```yaml bad frame=pool
spec.template.spec.requirements:
  - key: example.com/priority
    operator: Lt
    values: ["0"]
```

```yaml good frame=bad
spec.template.spec.requirements:
  - key: example.com/priority
    operator: Lt
    values: ["10"]
```

The rule also reports a requirement of a static NodePool that Karpenter drops, because the same key has a bound.

A NodePool with `replicas` launches nodes from its requirements alone. If a key has `Gt`, `Lt`, `Gte` or `Lte`, the
NodeClaim of such a pool contains only the bounds, so Karpenter also launches what `NotIn` excludes. Before 1.9.0 an
`Lt` is lost as well if the key also has a `Gt`. List the values with `In`, or exclude types by another key.

```yaml bad frame=pool
spec.replicas: 3
spec.template.spec.requirements:
  - key: karpenter.k8s.aws/instance-category
    operator: In
    values: ["m"]
  - key: karpenter.k8s.aws/instance-generation
    operator: Gt
    values: ["5"]
  - key: karpenter.k8s.aws/instance-generation
    operator: NotIn
    values: ["7"]
```

```yaml good frame=bad
spec.template.spec.requirements:
  - key: karpenter.k8s.aws/instance-category
    operator: In
    values: ["m"]
  - key: karpenter.k8s.aws/instance-generation
    operator: In
    values: ["6", "8", "9"]
```

```yaml bad frame=pool karpenter=1.8.0
spec.replicas: 3
spec.template.spec.requirements:
  - {key: karpenter.k8s.aws/instance-cpu, operator: Gt, values: ["3"]}
  - {key: karpenter.k8s.aws/instance-cpu, operator: Lt, values: ["17"]}
```

```yaml good frame=bad karpenter=1.8.0
spec.template.spec.requirements:
  - {key: karpenter.k8s.aws/instance-cpu, operator: In, values: ["4", "8", "12", "16"]}
```

From 1.7.0 on, the rule reports a `role` that is written as an ARN or with its path. Karpenter compares it with the
bare name that IAM returns for the role of an instance profile. The two are never equal, so Karpenter creates a new
profile each time.

```yaml bad frame=class karpenter=1.14.1
spec.role: arn:aws:iam::111122223333:role/nodes/KarpenterNodeRole-main
```

The rule also reports kubelet settings that Karpenter does not pass to nodes of the class's family: `podsPerCore` on
Bottlerocket, and all addresses of `clusterDNS` except the first on every family other than AL2023 and Custom.

```yaml bad frame=class karpenter=1.14.1
spec.amiSelectorTerms: [{alias: bottlerocket@v1.46.0}]
spec.kubelet:
  podsPerCore: 10
  clusterDNS: [10.0.0.10]
```

```yaml good frame=bad karpenter=1.14.1
spec.kubelet.maxPods: 40
spec.kubelet.podsPerCore: null
```
"""

from functools import partial

from nodelint.api import (
    EVERY_PROVIDER,
    Context,
    Edit,
    Finding,
    Findings,
    Node,
    NodePool,
    Object,
    RequirementLine,
    RuleCheck,
    Suggestion,
    apiserver,
    controller,
    edits,
    fixes,
    labels,
    messages,
    remedies,
    requirement,
    resolve,
    rule,
    run_checks,
)


@rule(
    on=Object,
    group="correctness",
    fix="unsafe",
    gives_way_to=[
        "wildcard-value",
        "unknown-value",
        "value-of-another-key",
        "unknown-label",
        "unsupported-alias",
        "invalid-field",
        "refused-combination",
        "field-of-another-release",
        "removed-api",
        "no-instance-type",
    ],
    providers=EVERY_PROVIDER,
    renamed=("bound-without-values", "exclusion-lost"),
    subject="objects",
    source=[
        "core:pkg/apis/v1/nodepool_validation.go@v1.14.0:28",
        "core:pkg/scheduling/requirement.go@v1.14.0:256",
        "core:pkg/controllers/nodeclaim/lifecycle/launch.go@v1.4.0:127",
        "provider:pkg/controllers/nodeclass/instanceprofile.go@v1.7.0:78",
        "provider:pkg/providers/amifamily/bottlerocket.go@v1.14.1:202",
        "provider:pkg/providers/amifamily/bootstrap/bottlerocket.go@v1.14.1:56",
    ],
    tags=["admission", "release-dependent", "controller"],
)
def check(obj: Object, context: Context) -> Findings:
    yield from run_checks(
        obj,
        context,
        RuleCheck(_check_problems),
        RuleCheck(_check_drawn),
        RuleCheck(_check_static, releases=">=1.8.0"),
    )


_SHORTER = "shorten it, load the script from S3, or build it into the image"


def _check_problems(obj: Object, context: Context) -> Findings:
    for problem in context.controller_problems(obj):
        yield Finding(
            at=problem.node,
            message=problem.message,
            severity=problem.severity,
            edits=_suggested(problem) or _split(obj, problem),
            covers=problem.node.items if problem.node.kind == "sequence" else (),
            note=problem.consequence,
            help=_SHORTER if problem.kind == "user-data" else None,
            suggestions=_chosen(problem)
            or _dropped("remove this one", problem.node if problem.kind == "taint-twice" else None)
            or _ways(obj, problem, context),
        )


def _chosen(problem: controller.ControllerProblem) -> list[Suggestion]:
    """Return suggestions of values that may have been meant."""
    found = [
        Suggestion(f"{choice.name}: `{choice.value}`", changes)
        for choice in problem.choices
        if choice.value != problem.suggestion
        and (changes := edits.if_editable(edits.set_value, choice.node or problem.node, choice.value))
    ]
    alone = problem.kind == "volume-type" and problem.node.value in ("iops", "throughput")
    return [*found, *_dropped(f"remove `{problem.node.value}`", problem.node if alone else None)]


def _ways(obj: Object, problem: controller.ControllerProblem, context: Context) -> list[Suggestion]:
    """Return suggestions for a problem: a time for each eviction signal without one, else removals of the refused
    part.
    """
    if problem.kind == "ignored-values":
        return _requirement_meant(problem.node)
    if problem.kind == "user-data":
        return []
    if problem.kind == "kubelet-address":
        return _dropped(f"remove `{messages.short(str(problem.node.value), 40)}`", problem.node)
    kubelet = obj.node.find("spec", "kubelet")
    if kubelet is not None and "imageGCHighThresholdPercent` must be above" in problem.message:
        return remedies.list_suggestions(remedies.swap_thresholds(kubelet))
    if kubelet is not None and problem.message.startswith("each signal of `evictionSoft` needs"):
        soft, grace = kubelet.get("evictionSoft"), kubelet.get("evictionSoftGracePeriod")
        given = {entry.name for entry in grace.entries} if grace is not None else set()
        periods = {str(e.name): "2m" for e in soft.entries if e.name not in given} if soft is not None else {}
        field = "evictionSoftGracePeriod"
        added = (
            edits.if_editable(edits.add_key, kubelet, field, periods, "evictionSoft")
            if grace is None
            else edits.if_editable(edits.add_keys, grace, periods)
        )
        return remedies.list_suggestions([(f"evict after 2m of {', '.join(periods)}", added)])
    if problem.severity != "error" or problem.suggestion is not None:
        return []
    if problem.kind == "selector-id" and (ways := remedies.selected_by_name(obj, problem.node)):
        return remedies.list_suggestions(ways)
    return remedies.drop_refused(obj, problem.node, partial(_judge, context=context))


def _requirement_meant(values: Node) -> list[Suggestion]:
    """Return suggestions to repair a requirement whose operator does not fit its values.

    One changes the operator, the other removes the values (or, for `NotIn`, the requirement).
    """
    line = values.parent
    operator = line.get("operator") if line is not None else None
    if line is None or operator is None or values.kind != "sequence":
        return []
    dropped = edits.if_editable(edits.remove, values)
    if operator.value == "NotIn":
        written = edits.if_editable(edits.set_value, operator, "Exists")
        ways = [("write `Exists`, which has the same effect", [*written, *dropped] if written and dropped else [])]
        return remedies.list_suggestions([*ways, ("remove the requirement", edits.if_editable(edits.remove, line))])
    other = "In" if operator.value == "Exists" else "NotIn"
    meant = edits.if_editable(edits.set_value, operator, other)
    return remedies.list_suggestions([(f"write `{other}`", meant), ("remove `values`", dropped)])


def _judge(obj: Object, context: Context) -> "list[controller.ControllerProblem | apiserver.SchemaProblem]":
    """Return the problems of the controller and of the API server: a suggestion must satisfy both."""
    refusals = apiserver.check(obj, release=context.karpenter, schemas=context.schemas)
    return [*controller.check(obj, release=context.karpenter), *refusals]


def _dropped(name: str, node: Node | None) -> list[Suggestion]:
    """Return a suggestion to remove an item of a list; empty without a node, or if it cannot be edited."""
    changes = edits.if_editable(edits.remove, node) if node is not None else []
    return [Suggestion(name, changes)] if changes else []


def _suggested(problem: controller.ControllerProblem) -> list[Edit]:
    """Return the edits that write the value that was clearly meant, such as a corrected schedule; empty if there is
    none.
    """
    if problem.suggestion is None or problem.node.kind != "scalar":
        return []
    return remedies.write_meant(problem.node, problem.suggestion, problem.wanted)


def _split(obj: Object, problem: controller.ControllerProblem) -> list[Edit]:
    """Return edits that split one text with commas into several values; empty for any other problem."""
    for line in obj.requirements if isinstance(obj, NodePool) else ():
        if any(value.node is problem.node for value in line.values):
            return fixes.split_values(line.values_node)
    return []


HOSTNAME = "kubernetes.io/hostname"


def _check_drawn(pool: Object, context: Context) -> Findings:
    if not isinstance(pool, NodePool) or pool.foreign or pool.partial:
        return
    if not any(line.operator in ("Gt", "Gte", "Lt", "Lte") for line in pool.requirements):
        return
    own = requirement.well_known(context.karpenter) | {HOSTNAME}
    folded = context.resolution(pool).folded
    for folded_requirement in folded:
        if folded_requirement.key not in own and folded_requirement.numbers_to_draw_from == 0:
            line = next(other_line for other_line in pool.requirements if _bounds(other_line, folded_requirement.key))
            shown, key = (
                messages.short(f"{line.operator} {line.texts[0]}", 30),
                messages.short(folded_requirement.key, 30),
            )
            yield Finding(
                at=line.values[0].node,
                message=f"`{shown}` of `{key}` allows no whole number of 0 or more: the controller crashes",
                note="Karpenter labels each node with a random number of 0 or more that the bounds allow",
                suggestions=_dropped("remove the requirement", line.node),
            )


def _bounds(line: RequirementLine, key: str) -> bool:
    return (
        isinstance(line.key, str)
        and requirement.normalize(line.key) == key
        and line.operator in ("Gt", "Gte", "Lt", "Lte")
        and bool(line.texts)
    )


_BOUNDS_ALONE = "for a key with bounds (Gt, Lt), NodeClaims of a NodePool with `replicas` carry only the bounds"
_ONE_BOUND = "before Karpenter 1.9, NodeClaims of a NodePool with `replicas` lose an upper bound next to a lower one"


def _check_static(pool: Object, context: Context) -> Findings:
    if (
        not isinstance(pool, NodePool)
        or pool.foreign
        or not pool.static
        or pool.partial
        or len(pool.requirements) < 2
    ):
        return
    resolution = context.resolution(pool)
    more = resolution.candidates - resolution.wanted
    for line in resolution.lines if more else ():
        at, requirement = line.at, line.requirement
        if requirement is None or not isinstance(at, RequirementLine):
            continue
        if resolve.lost_on_claim(requirement, resolution.folded, resolution.supply):
            quoted = messages.short(f"{line.operator} {', '.join(line.values)}", 30)
            types = messages.counted(len(more), "more type")
            yield Finding(
                at=at.values_node,
                message=f"Karpenter drops `{quoted}` of {labels.name_of(line.key)}: it can launch {types}",
                note=_ONE_BOUND if line.operator in ("Lt", "Lte") else _BOUNDS_ALONE,
                help="list the values with `In` instead",
                suggestions=_spelt_out(resolution, at),
            )


def _spelt_out(resolution: resolve.Resolution, line: RequirementLine) -> list[Suggestion]:
    """Return a suggestion to list the values of the wanted types with `In`, which NodeClaims keep.

    All requirements on the key become one. Empty if there are too many values.
    """
    key = requirement.normalize(str(line.key))
    values = resolution.distinct(key, resolution.wanted) or ()
    if not 0 < len(values) <= MOST_LISTED:
        return []
    listed = sorted(values, key=lambda text: (len(text), text))
    others = [
        other_line
        for other_line in resolution.pool.requirements
        if other_line is not line and _constrains_key(other_line, key)
    ]
    item = {"key": str(line.key), "operator": "In", "values": listed}
    changes = edits.if_editable(edits.replace, line.node, item)
    gone = edits.if_editable(edits.remove_all, [other.node for other in others]) if others else []
    if not changes or bool(others) != bool(gone):
        return []
    return [Suggestion(f"list the values of {labels.name_of(key)} with `In`", [*changes, *gone])]


MOST_LISTED = 40
"""The most values that a message lists."""


def _constrains_key(line: RequirementLine, key: str) -> bool:
    return isinstance(line.key, str) and requirement.normalize(line.key) == key
