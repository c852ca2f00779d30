r"""A custom taint uses Karpenter's domain, such as `karpenter.sh/spot`.

The domains `karpenter.sh` and `karpenter.k8s.aws` belong to Karpenter. Karpenter refuses custom labels in them, but
accepts custom taints. Such a taint works, but it looks as if Karpenter had set it, and it conflicts if a later
release gives the key a meaning. Use your own domain or none: `spot`, `team.example/spot`. Taints are part of the
template, so a new key replaces the pool's nodes. Add the new toleration to the pods first.

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
                message=f"the custom taint `{messages.short(key, 40)}` uses Karpenter's domain `{domain}`",
                help="use your own domain or none; add the toleration to the pods first",
            )
