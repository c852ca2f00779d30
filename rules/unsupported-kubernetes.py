"""A cluster whose Kubernetes is newer, or older, than the release of Karpenter supports.

Each release of Karpenter is made for a range of Kubernetes versions. On a newer one the controller logs an error and
goes on, untested: an API that it uses may be gone, images may need another bootstrap. Upgrade Karpenter first, then
the cluster. `nodelint upgrade` says what that means for the manifests.

A Kubernetes below the oldest that a release supports is as little tried: bring the cluster up first, or stay on an
older release of Karpenter until then.

Both versions come from flags, the configuration, or the files next to the NodePool. It is reported once in a run.
Silent where nothing states the release, and for objects that a release before 1.0.0 served and that are judged as
what they become.

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
            message=f"Karpenter {context.karpenter} supports Kubernetes from {supported.least} on, the cluster runs "
            f"{kubernetes}",
            note="the controller logs an error and goes on, untested",
            help=f"bring the cluster to {supported.least} first"
            + (f"; Karpenter {fitting[-1]} is the last for {kubernetes}" if fitting else ""),
            once=True,
        )
        return
    # A release before the oldest known is judged as that one.
    older = " and older support" if context.karpenter == releases.OLDEST else " supports"
    yield Finding(
        at=pool.name_node,
        message=f"Karpenter {context.karpenter}{older} Kubernetes to {supported.most}, the cluster runs {kubernetes}",
        note="the controller logs an error and goes on, untested",
        help=f"upgrade Karpenter to {fitting[0]} or newer, before the cluster" if fitting else None,
        once=True,
    )
