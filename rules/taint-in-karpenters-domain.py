r"""A custom taint in Karpenter's domain, such as `karpenter.sh/spot`.

The domains `karpenter.sh` and `karpenter.k8s.aws` belong to Karpenter. It refuses custom labels there, and
takes such a taint as it is. It works like any other, reads as if Karpenter had set it, and is in the way when a
release gives the key a meaning. Name taints with a domain of your own, or without one: `spot`, `team.example/spot`.
Taints are part of the template, so that a new key replaces the pool's nodes; pods need the new toleration before.

```yaml bad frame=pool
spec.template.spec.taints: [{key: karpenter.sh/spot, effect: NoSchedule}]
```

```yaml good frame=bad
spec.template.spec.taints: [{key: spot, effect: NoSchedule}]
```
"""

from nodelint.api import EVERY_PROVIDER, Context, Finding, Findings, NodePool, messages, rule, taints


@rule(
    on=NodePool,
    group="practice",
    severity="info",
    gives_way_to=["misused-taint", "controller-check", "invalid-field"],
    providers=EVERY_PROVIDER,
    mentions=["aints"],
    subject="pools",
    source=[
        "core:pkg/apis/v1/labels.go@v1.14.0:68",
        "core:pkg/apis/v1/taints.go@v1.14.0:27",
    ],
    cel=(
        "!has(object.spec.template.spec.taints) || object.spec.template.spec.taints.all(t, t.key in "
        "['karpenter.sh/disrupted', 'karpenter.sh/unregistered'] || "
        "!t.key.matches('^([^/]*[.])?(karpenter[.]sh|karpenter[.]k8s[.]aws)/'))"
    ),
)
def check(pool: NodePool, context: Context) -> Findings:
    for taint in pool.taints:
        key = taint.key
        if not isinstance(key, str) or taints.owner_of_taint(key) is not None:
            continue
        domain = key.partition("/")[0] if "/" in key else ""
        if taints.of_karpenter(domain):
            yield Finding(
                at=taint.node.get("key") or taint.node,
                message=f"`{messages.short(key, 40)}` is not Karpenter's, but in its domain `{domain}`",
                help="name it with a domain of your own, or without one",
            )
