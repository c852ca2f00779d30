r"""A `consolidateAfter` of an hour or more or `Never`, and of over half an hour where each node has accelerators.

The time runs from the last pod that started or ended on a node. With `WhenEmptyOrUnderutilized` each of them starts
it anew, so that a node on which a CronJob runs each hour is never considered. An empty node is paid for as long as
that, each time: a node with GPUs costs most then. Where starting a node takes long, for large images or models, it
may be worth it. With `Never` (for a Provisioner: with neither `consolidation` nor `ttlSecondsAfterEmpty`) a node that
runs empty stays until it expires or drifts.

```yaml bad frame=pool
spec.template.spec.requirements:
  - {key: karpenter.k8s.aws/instance-family, operator: In, values: [g5]}
spec.template.spec.taints: [{key: nvidia.com/gpu, effect: NoSchedule}]
spec.disruption:
  consolidationPolicy: WhenEmpty
  consolidateAfter: 100m
```

```yaml good frame=bad
spec.disruption.consolidateAfter: 10m
```

```yaml bad frame=pool
spec.disruption:
  consolidationPolicy: WhenEmptyOrUnderutilized
  consolidateAfter: 2h
```

```yaml good frame=bad
spec.disruption.consolidateAfter: 15m
```
"""

from nodelint.api import (
    EVERY_PROVIDER,
    Context,
    Finding,
    Findings,
    NodePool,
    controller,
    fixes,
    manifest,
    resolve,
    rule,
)

HOUR = 3600


@rule(
    on=NodePool,
    group="practice",
    severity="info",
    gives_way_to=["invalid-field", "no-instance-type", "refused-combination", "removed-api"],
    providers=EVERY_PROVIDER,
    options={
        "minutes": "how many minutes of `consolidateAfter` are long",
        "devices": "the most minutes that nodes with GPUs or accelerators may be empty",
    },
    subject="disruption",
    source=[
        "core:pkg/controllers/nodeclaim/disruption/consolidation.go@v1.14.0:40",
        "https://karpenter.sh/docs/concepts/disruption/",
    ],
)
def check(pool: NodePool, context: Context, *, minutes: int = 60, devices: int = 30) -> Findings:
    if pool.static:
        return  # Karpenter consolidates no node of it
    block = pool.find_field("spec", "disruption")
    after = block.get("consolidateAfter") if block is not None else None
    written = manifest.text(after)
    if after is not None and written == "Never":
        yield Finding(
            at=after,
            message="no node is consolidated, not even an empty one: each stays until it expires or drifts",
            help="`consolidationPolicy: WhenEmpty` with 5m moves no running pod",
        )
    length = controller.seconds(written) if isinstance(written, str) else None
    if block is None or after is None or length is None or (length <= devices * 60 and length < minutes * 60):
        return
    resolution = context.resolution(pool)
    has_devices = not fixes.doubts(resolution) and resolve.devices(resolution.candidates, resolution.catalog)
    price = resolve.cheapest(resolution.catalog, resolution.candidates) if has_devices else None
    if price is not None and length > devices * 60:
        yield Finding(
            at=after,
            message=f"an empty `{price[1]}` stays for `{written}`, which costs ${price[0] * length / HOUR:,.2f}",
            help="5m to 15m are enough to keep a node for the next job",
        )
    elif length >= minutes * 60 and manifest.text(block.get("consolidationPolicy")) == "WhenEmpty":
        yield Finding(
            at=after,
            message=f"an empty node runs `{written}` more",
            help="5m to 15m are enough to keep a node for the next job",
        )
    elif length >= minutes * 60:
        yield Finding(
            at=after,
            message=f"a node is consolidated only where no pod started or ended on it for `{written}`",
            note="on a node that runs a CronJob more often, consolidation never happens",
            help="5m to 15m keep nodes from being replaced for each change",
        )
