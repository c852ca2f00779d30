"""The cluster runs a Kubernetes version that is newer or older than the release of Karpenter supports.

Each release of Karpenter supports a range of Kubernetes versions. With a newer one, the controller logs an error and
continues untested: an API may be gone, or images may need another bootstrap. Upgrade Karpenter first, then the
cluster. `nodelint upgrade` shows what that means for the manifests.

A Kubernetes version below the range is not tested either. Upgrade the cluster first, or use an older release of
Karpenter until then.

Both versions come from flags, the configuration, or the files next to the NodePool. The rule reports once in a run.
It reports nothing if nothing states the release, or for objects of an API before 1.0.0.

```yaml bad frame=pool karpenter=1.0.1 kubernetes=1.31
```

```yaml good frame=bad karpenter=1.0.5 kubernetes=1.31
```

```yaml bad frame=pool karpenter=1.5.0 kubernetes=1.25
```

```yaml good frame=bad karpenter=1.5.0 kubernetes=1.26
```
"""

from nodelint.api import Context, Finding, Findings, NodePool, manifest, releases, rule


@rule(
    on=NodePool,
    group="hazard",
    subject="migration",
    source=[
        "https://karpenter.sh/docs/upgrading/compatibility/",
        "provider:pkg/providers/version/version.go@v1.14.1:43",
    ],
    tags=["stated-release"],
)
def check(pool: NodePool, context: Context) -> Findings:
    kubernetes, chosen = context.kubernetes, context.chosen
    if kubernetes is None or releases.is_newer(context.karpenter):
        return
    if chosen is not None and not chosen.is_stated:  # nobody says that this release runs
        return
    supported = releases.supported(context.karpenter)
    if kubernetes in supported:
        return
    others = (o for o in context.objects if isinstance(o, NodePool) and o.source is pool.source)
    if next(o for o in others if not o.foreign and manifest.served(o, context.karpenter)) is not pool:
        return
    fitting = [release for release in releases.RELEASES if kubernetes in releases.supported(release)]
    if kubernetes < supported.least:
        yield Finding(
            at=pool.name_node,
            message=f"Karpenter {context.karpenter} supports Kubernetes from {supported.least} on, but the cluster "
            "runs "
            f"{kubernetes}",
            note="the controller logs an error and continues; this combination is not tested",
            help=f"upgrade the cluster to {supported.least} first"
            + (f"; Karpenter {fitting[-1]} is the last for {kubernetes}" if fitting else ""),
            once=True,
        )
        return
    # A release before the oldest known is judged as that one.
    older = " and older support" if context.karpenter == releases.OLDEST else " supports"
    yield Finding(
        at=pool.name_node,
        message=f"Karpenter {context.karpenter}{older} Kubernetes up to {supported.most}, but the cluster runs "
        f"{kubernetes}",
        note="the controller logs an error and continues; this combination is not tested",
        help=f"upgrade Karpenter to {fitting[0]} or newer, before the cluster" if fitting else None,
        once=True,
    )
