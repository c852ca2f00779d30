r"""`consolidateAfter` is `Never` or at least an hour, or over half an hour in a pool of accelerator nodes.

The time counts from the last pod that started or ended on a node. With `WhenEmptyOrUnderutilized` each such change
starts it again, so Karpenter never considers a node that runs a CronJob every hour. You pay for an empty node for
this time, each time. That is expensive for nodes with GPUs. It can be right if a node needs long to start, because of
large images or models. With `Never`, an empty node stays until it expires or drifts. (For a Provisioner, `Never` is
neither `consolidation` nor `ttlSecondsAfterEmpty`.)

Who writes an hour usually means it. So the strict profile shows only `Never` and the cost of accelerator nodes, and
`--select` or `--extend-select` shows the rest.

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
            message="Karpenter consolidates no node, not even an empty one: each stays until it expires or drifts",
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
            on_request=True,
            message=f"an empty node keeps running for `{written}`",
            help="5m to 15m are enough to keep a node for the next job",
        )
    elif length >= minutes * 60:
        yield Finding(
            at=after,
            on_request=True,
            message=f"Karpenter consolidates a node only if no pod started or ended on it for `{written}`",
            note="it never consolidates a node that runs a CronJob more often than that",
            help="5m to 15m are enough to keep Karpenter from replacing nodes after each change",
        )
