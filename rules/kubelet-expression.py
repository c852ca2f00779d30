r"""A CEL expression in the kubelet settings does not compile, or gives no usable number for an instance type.

From Karpenter 1.15.0 on, `maxPods` and the values of `kubeReserved` and `systemReserved` may be expressions over an
instance type. The variables are `vcpus`, `memory_mib`, `default_enis`, `ips_per_eni`, `max_pods` and `instance_type`.
The API server does not check expressions. The controller evaluates each one for every instance type of the region,
even if no pool uses the type. If an expression fails or gives a negative number, the class is not ready, and
Karpenter launches nothing with it. The number has the unit of its field: millicores, MiB or GiB.

CEL does not mix integers and doubles: `memory_mib * 0.01` does not compile, `double(memory_mib) * 0.01` does.

A number in quotes is an expression as well. The feature gate NodeClassCEL is off by default. Without it a class with
an expression is never ready.

```yaml bad frame=class karpenter=1.15.1
spec.kubelet.maxPods: "110"
```

```yaml good frame=bad karpenter=1.15.1
spec.kubelet.maxPods: 110
```

nodelint evaluates expressions for the types that the class's pools can launch. If facts from AWS list the types of
the region, it evaluates them for all of those.

```yaml bad frame=class karpenter=1.15.1
spec.kubelet.kubeReserved:
  cpu: max(60, vcpus * 30)
  memory: memory_mib * 0.01
```

```yaml good frame=bad karpenter=1.15.1
spec.kubelet.kubeReserved.memory: double(memory_mib) * 0.01
```

```yaml bad frame=class+pool karpenter=1.15.1
spec.kubelet:
  maxPods: (default_enis - 3) * (ips_per_eni - 1) + 2
  systemReserved:
    memory: (max_pods - 20) * 8
---
spec.template.spec.requirements:
  - {key: karpenter.k8s.aws/instance-family, operator: In, values: [m5]}
```

```yaml good frame=bad karpenter=1.15.1
spec.kubelet.maxPods: max(default_enis - 3, 1) * (ips_per_eni - 1) + 2
spec.kubelet.systemReserved.memory: max(max_pods - 20, 10) * 8
```
"""

from __future__ import annotations

from nodelint.api import (
    Context,
    EC2NodeClass,
    Finding,
    Findings,
    Missing,
    Node,
    Skip,
    Suggestion,
    edits,
    expressions,
    fixes,
    messages,
    rule,
)

NOTE = "the class never becomes ready: the controller evaluates the expression for each instance type of the region"
OFF = "the class never becomes ready (KubeletExpressionsDisabled)"
GATE = "nodelint does not know whether the feature gate NodeClassCEL is on; without it the class is never ready"


@rule(
    on=EC2NodeClass,
    group="correctness",
    releases=">=1.15.0",
    mentions=["kubelet"],
    subject="kubelet",
    source="https://karpenter.sh/docs/concepts/nodeclasses/#speckubelet",
    tags=["admission"],
)
def check(node_class: EC2NodeClass, context: Context) -> Findings:
    written_expressions = expressions.expressions(node_class)
    sound = True
    for expression in written_expressions:
        try:
            expressions.compiled(expression.text)
        except expressions.NoRuntime as error:
            yield Skip(node_class.name_node, str(error))
            return
        except expressions.NotCompiled as error:
            sound = False
            yield _finding(expression.node, f"`{expression.field}` does not compile: {error}")
    if written_expressions and sound:
        gate = context.settings(node_class).gate("NodeClassCEL")
        evaluated = list(_evaluated(node_class, context)) if gate is not False else []
        wrong = {id(outcome.at) for outcome in evaluated if isinstance(outcome, Finding)}
        plain = [expression for expression in written_expressions if expression.text.strip().isdecimal()]
        if gate is None:
            yield from (_number_in_quotes(number) for number in plain if id(number.node) not in wrong)
            if len(plain) < len(written_expressions):
                yield Skip(written_expressions[0].node, GATE)
        elif not gate:
            message = "the class has an expression, but the feature gate NodeClassCEL is off"
            turn_on = "set `settings.awsFeatureGates.nodeClassCEL: true` in the values of Karpenter's chart"
            yield Finding(at=written_expressions[0].node, message=message, note=OFF, help=turn_on)
            return
        yield from evaluated


def _number_in_quotes(expression: expressions.Expression) -> Finding:
    """Return a finding for a number in quotes: Karpenter reads it as an expression, which needs the feature gate
    NodeClassCEL.
    """
    changes = edits.if_editable(edits.set_value, expression.node, int(expression.text))
    return Finding(
        at=expression.node,
        message=f"`{expression.field}` is a string: Karpenter reads it as an expression",
        severity="warning",
        note="the class is ready only if the feature gate NodeClassCEL is on; it is off by default",
        suggestions=[Suggestion(f"write the number {int(expression.text)}", changes)] if changes else [],
    )


def _finding(node: Node, message: str) -> Finding:
    changes = edits.if_editable(edits.remove, node)
    ways = [Suggestion("remove the field: the default of the image family then applies", changes)] if changes else []
    return Finding(at=node, message=message, note=NOTE, suggestions=ways)


def _evaluated(node_class: EC2NodeClass, context: Context) -> Findings:
    resolutions = (context.resolution(pool) for pool in context.pools(node_class))
    pools = [found for found in resolutions if not fixes.doubts(found)]
    used = sorted({name for found in pools for name in found.catalog.names_in(found.launchable)})
    failed = set()
    for failure in expressions.failures(node_class, used, context.catalog):
        failed.add(failure.expression.field)
        yield _finding(failure.expression.node, _failure_text(failure))
    if failed:
        return
    offered = _offered(context)
    for failure in expressions.failures(node_class, offered or context.catalog, context.catalog):
        if offered:
            yield _finding(failure.expression.node, _failure_text(failure))
        else:
            reason = "nodelint does not know whether the region offers the type, and no NodePool here launches it"
            yield Skip(failure.expression.node, f"{_failure_text(failure)}: {reason}")


def _offered(context: Context) -> list[str]:
    """Return the names of the instance types that the region offers, sorted. Empty if the snapshot has no
    offerings.
    """
    try:
        return sorted(name for name in context.facts.offerings if name in context.catalog)
    except Missing:
        return []


def _failure_text(failure: expressions.ExpressionFailure) -> str:
    more = f" and {messages.counted(failure.number - 1, 'other type')}" if failure.number > 1 else ""
    field, type = failure.expression.field, failure.instance_type
    return messages.first_fitting(
        f"`{field}` {failure.what} for `{type}`{more}",
        f"`{field}` {failure.what} for `{type}`",
        f"`{field}` has no value for `{type}`",
    )
