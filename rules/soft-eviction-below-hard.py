r"""A threshold of `evictionSoft` is not above the one of `evictionHard`, so it has no effect.

At the soft threshold the kubelet gives pods a grace period. At the hard threshold it kills them at once. If the soft
threshold is the smaller one, the hard one always comes first, and pods never get the grace period. The soft threshold
must be larger.

The rule compares only two percentages, or two amounts, of one signal.

```yaml bad frame=class
spec.kubelet:
  evictionHard: {memory.available: 500Mi}
  evictionSoft: {memory.available: 200Mi}
  evictionSoftGracePeriod: {memory.available: 1m}
```

```yaml good frame=bad
spec.kubelet.evictionHard: {memory.available: 200Mi}
spec.kubelet.evictionSoft: {memory.available: 500Mi}
```
"""

from nodelint.api import Also, Context, EC2NodeClass, Finding, Findings, Node, fixes, quantities, rule


@rule(
    on=EC2NodeClass,
    group="hazard",
    gives_way_to=["invalid-field", "controller-check", "removed-api"],
    mentions=["evictionSoft"],
    subject="kubelet",
    source=["https://kubernetes.io/docs/concepts/scheduling-eviction/node-pressure-eviction/"],
)
def check(node_class: EC2NodeClass, context: Context) -> Findings:
    soft, hard = (node_class.node.find("spec", "kubelet", name) for name in ("evictionSoft", "evictionHard"))
    if soft is None or hard is None or soft.kind != "mapping" or hard.kind != "mapping":
        return
    for entry in soft.entries:
        other = hard.get(entry.name) if entry.name else None
        if other is None:
            continue
        early, late = _amount(entry.value), _amount(other)
        if early is not None and late is not None and early[0] == late[0] and early[1] <= late[1]:
            yield Finding(
                at=fixes.visible_node(entry.value),
                message=f"evictionSoft `{entry.value.value}` has no effect: the kubelet reaches evictionHard "
                f"`{other.value}` first",
                also=[Also(other, "at this threshold the kubelet kills pods without a grace period")],
                help="set evictionSoft to a larger threshold than evictionHard",
            )


def _amount(node: Node) -> tuple[bool, float] | None:
    """Return whether a threshold is a percentage, and its number. None if the threshold is not known."""
    if not isinstance(node.value, str):
        return None
    if node.value.endswith("%"):
        number = node.value[:-1]
        return (True, float(number)) if number.isascii() and number.replace(".", "", 1).isdigit() else None
    amount = quantities.quantity_of(node)
    return None if amount is None else (False, float(amount))
