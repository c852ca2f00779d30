r"""A `terminationGracePeriod` of minutes deletes pods that must not be deleted yet.

When Karpenter replaces a node, or a node expires or is deleted, its pods are evicted one by one, as
PodDisruptionBudgets allow. When `terminationGracePeriod` is over, Karpenter deletes the remaining pods, whatever a
PodDisruptionBudget or the annotation `karpenter.sh/do-not-disrupt` says. It deletes a pod with a longer
`terminationGracePeriodSeconds` early, so that the pod ends in time. Often ten minutes are not enough for replacements
to start, pull their images and become ready one after the other, as a PodDisruptionBudget requires.

```yaml bad frame=pool
spec.template.spec.terminationGracePeriod: 5m
```

```yaml good frame=bad
spec.template.spec.terminationGracePeriod: 24h
```

If the name of the pool suggests jobs (`runners`, `batch`), half an hour is short as well, because unfinished jobs are
lost.

```yaml bad frame=pool
metadata.name: ci-runners
spec.template.spec.terminationGracePeriod: 20m
```

```yaml good frame=bad
spec.template.spec.terminationGracePeriod: 2h
```
"""

from nodelint.api import EVERY_PROVIDER, Context, Finding, Findings, NodePool, controller, fixes, manifest, rule


@rule(
    on=NodePool,
    group="hazard",
    severity="info",
    gives_way_to=["invalid-field", "removed-api"],
    providers=EVERY_PROVIDER,
    options={
        "minutes": "the longest `terminationGracePeriod`, in minutes, that counts as short",
        "jobs": "the longest one, in minutes, that counts as short for a pool of jobs (strict profile)",
    },
    mentions=["terminationGracePeriod"],
    subject="disruption",
    source=[
        "core:pkg/apis/v1/nodeclaim.go@v1.14.0:73",
        "https://karpenter.sh/docs/concepts/disruption/",
    ],
    cel=(
        "!has(object.spec.template.spec.terminationGracePeriod) || "
        "duration(object.spec.template.spec.terminationGracePeriod) > duration('$minutesm')"
    ),
)
def check(pool: NodePool, context: Context, *, minutes: int = 10, jobs: int = 30) -> Findings:
    node = pool.node.find("spec", "template", "spec", "terminationGracePeriod")
    written = manifest.text(node)
    length = controller.seconds(written) if isinstance(written, str) else None
    if node is None or length is None or length > max(minutes, jobs) * 60:
        return
    word = fixes.names_jobs(pool)
    if word is None and length > minutes * 60:
        return
    left = f"jobs of this pool (`{word}`) are" if word else "all remaining pods are"
    yield Finding(
        at=node,
        message=f"after a drain of `{written}` {left} deleted, also pods that a PDB protects",
        strict=length > minutes * 60,
        note="`karpenter.sh/do-not-disrupt` does not protect these pods either",
        help="set `terminationGracePeriod` to the time that the longest job needs, for example `1h` or `24h`",
    )
