"""A release of Karpenter, or a Kubernetes version on EKS, is out of support or soon will be.

A minor version of Karpenter gets fixes until the next one is released. A long-term version gets fixes for twelve
months. After that, Karpenter's support policy promises fixes of bugs and security holes only for newer releases, even
if an old minor version got a patch later.

EKS supports a Kubernetes version for 14 months, and then for another 12 months at six times the price ($0.60 instead
of $0.10 an hour for a cluster). After that, AWS upgrades the control plane on a day that AWS chooses. Nodes keep the
old version, and a release of Karpenter that does not support the new version runs untested.

The rule looks only at releases that files of the repository state, not at those that a flag or the configuration
sets. It reports each once, at the line that states it. The option `days` sets how long before the end the rule begins
to report a Kubernetes version.

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
    options={"days": "how many days before the end a Kubernetes version is reported"},
    source=[
        "https://github.com/aws/karpenter-provider-aws/blob/main/SUPPORT.md",
        "https://docs.aws.amazon.com/eks/latest/userguide/kubernetes-versions.html",
        "https://aws.amazon.com/eks/pricing/",
    ],
    tags=["stated-release"],
)
def check(pool: NodePool, context: Context, *, days: int = 30) -> Findings:
    if context.today is None:
        return
    of_file = (o for o in context.objects if isinstance(o, NodePool) and o.source is pool.source)
    if next((o for o in of_file if manifest.served(o, context.karpenter)), None) is not pool:
        return
    chosen, found = context.chosen, []
    if chosen is None or (chosen.karpenter_from is not None and not chosen.later):
        found += _check_karpenter(context.karpenter, context.today)
    if context.kubernetes is not None and (chosen is None or chosen.kubernetes_from is not None):
        found += _check_kubernetes(context.kubernetes, context.today, days)
    for message, note, way, presses in found:
        yield Finding(
            at=pool.name_node,
            message=message,
            severity="warning" if presses else None,
            note=note,
            help=way,
            once=message,
        )


_End = tuple[str, str, str, bool]
"""An end of support that has passed or is near: the message, the note, the help, and whether extended support has
ended or ends soon.
"""


def _check_karpenter(release: releases.Version, today: int) -> list[_End]:
    until = support.karpenter_support(release)
    if releases.is_newer(release) or until is None or support.day_number(until) >= today:
        return []
    newer = " or ".join(support.supported_minors(today)[-2:])
    older = " and older are" if release == releases.OLDEST else " is"
    return [
        (
            f"Karpenter {release}{older} out of support since {until}",
            f"Karpenter's support policy promises fixes for newer releases than {release.major}.{release.minor}",
            f"upgrade Karpenter to {newer}; `nodelint upgrade` lists what changes",
            False,
        )
    ]


def _check_kubernetes(kubernetes: releases.KubernetesVersion, today: int, days: int) -> list[_End]:
    known = support.eks_support(kubernetes)
    if known is None:
        return []
    standard, extended = (support.day_number(day) - today for day in known)
    costs = "a cluster costs $0.60 an hour instead of $0.10"
    way = "upgrade the cluster one minor version at a time, with its nodes and add-ons"
    if extended < 0:
        note = "AWS upgrades the control plane on its own; the nodes keep the old version"
        return [(f"EKS has not supported Kubernetes {kubernetes} since {known.extended}", note, way, True)]
    if extended <= days or standard < 0:
        message = f"Kubernetes {kubernetes} is in extended support until {known.extended}"
        note = f"{costs}, and then AWS upgrades the control plane on its own"
        return [(message, note, way, extended <= days)]
    if standard <= days:
        message = f"EKS ends standard support of Kubernetes {kubernetes} on {known.standard}"
        return [(message, f"after this day, {costs}", way, False)]
    return []
