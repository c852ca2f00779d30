"""A release of Karpenter, or a Kubernetes version on EKS, that is out of support, or soon will be.

A minor version of Karpenter gets fixes until the next one is out; a long-term one for twelve months. What is found
later, security holes too, is fixed in newer releases only.

EKS supports a Kubernetes version for 14 months, then for another 12 at six times the price ($0.60 an hour for a
cluster in place of $0.10). When these are over, AWS upgrades the control plane by itself, on a day that it chooses;
nodes stay behind, and a release of Karpenter that does not know the newer version goes on untested.

The rule looks at releases that files of the repository state, and never at those that a flag or the configuration
names. It is told once in a run. `days` is how long before the end it begins to speak of a Kubernetes version.

```yaml bad frame=pool karpenter=1.13.1 today=2026-09-20
```

```yaml good frame=bad karpenter=1.14.3 today=2026-09-20
```

```yaml bad frame=pool karpenter=1.14.3 kubernetes=1.30 today=2026-09-20
```

```yaml good frame=bad karpenter=1.14.3 kubernetes=1.35 today=2026-09-20
```
"""

from nodelint.api import Context, Finding, Findings, NodePool, manifest, releases, rule, support


@rule(
    on=NodePool,
    group="hazard",
    severity="info",
    subject="migration",
    gives_way_to=["unsupported-kubernetes"],
    renamed=["startup-race"],
    options={"days": "how many days before the end a Kubernetes version is spoken of"},
    source=[
        "https://github.com/aws/karpenter-provider-aws/blob/main/SUPPORT.md",
        "https://docs.aws.amazon.com/eks/latest/userguide/kubernetes-versions.html",
        "https://aws.amazon.com/eks/pricing/",
    ],
)
def check(pool: NodePool, context: Context, *, days: int = 30) -> Findings:
    if context.today is None:
        return
    pools = (o for o in context.objects if isinstance(o, NodePool) and manifest.served(o, context.karpenter))
    if next(pools, None) is not pool:
        return
    chosen = context.chosen
    if chosen is None or (chosen.karpenter_from is not None and not chosen.later):
        yield from _check_karpenter(pool, context, context.today)
    if chosen is None or chosen.kubernetes_from is not None:
        yield from _check_kubernetes(pool, context, context.today, days)


def _check_karpenter(pool: NodePool, context: Context, today: int) -> Findings:
    until = support.karpenter_support(context.karpenter)
    if releases.is_newer(context.karpenter) or until is None or support.day_number(until) >= today:
        return
    now = " or ".join(support.supported_minors(today)[-2:])
    older = " and older releases are" if context.karpenter == releases.OLDEST else " is"
    yield Finding(
        at=pool.name_node,
        message=f"Karpenter {context.karpenter}{older} out of support since {until}",
        note="what is found in it, security holes too, is fixed in newer releases only",
        help=f"upgrade to {now}; `nodelint upgrade` says what that means",
        once=True,
    )


def _check_kubernetes(pool: NodePool, context: Context, today: int, days: int) -> Findings:
    kubernetes = context.kubernetes
    known = support.eks_support(kubernetes) if kubernetes is not None else None
    if known is None:
        return
    standard, extended = (support.day_number(day) - today for day in known)
    if extended < 0:
        yield Finding(
            at=pool.name_node,
            message=f"EKS does not support Kubernetes {kubernetes} since {known.extended}",
            severity="warning",
            note="AWS upgrades such a control plane by itself, and the nodes stay behind",
            help="upgrade the cluster, one minor version after the other, with nodes and add-ons",
            once=True,
        )
    elif extended <= days or standard < 0:
        price = "a cluster costs $0.60 an hour in place of $0.10"
        at_the_end = "then AWS upgrades the control plane by itself"
        yield Finding(
            at=pool.name_node,
            message=f"Kubernetes {kubernetes} is in extended support on EKS, until {known.extended}",
            severity="warning" if extended <= days else None,
            note=f"{price}, and {at_the_end}",
            once=True,
        )
    elif standard <= days:
        yield Finding(
            at=pool.name_node,
            message=f"EKS ends standard support of Kubernetes {kubernetes} on {known.standard}",
            note="after it, a cluster costs $0.60 an hour in place of $0.10",
            once=True,
        )
