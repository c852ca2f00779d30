r"""User data sets labels that belong to Karpenter or that the kubelet refuses, or taints that the NodePool lacks.

Labels of `karpenter.sh` and `karpenter.k8s.aws` belong to Karpenter. It sets them on each node and finds its nodes by
them. The kubelet refuses to start with most labels of `kubernetes.io` and `k8s.io`, such as
`node-role.kubernetes.io/worker`, so the node never joins. Taints in a kubelet flag replace the taints that Karpenter
sets, including `karpenter.sh/unregistered`, and Karpenter plans pods for nodes whose taints they do not tolerate.

Write labels and taints into `spec.template` of the NodePool. Then pods can select them.

There is no fix for a label that the kubelet refuses: if pods select it, they need its new name as well.

```yaml bad frame=class
spec.userData: |
  apiVersion: node.eks.aws/v1alpha1
  kind: NodeConfig
  spec:
    kubelet:
      flags:
        - --node-labels=karpenter.sh/capacity-type=spot,team=search
```

```yaml good frame=bad
spec.userData: |
  apiVersion: node.eks.aws/v1alpha1
  kind: NodeConfig
  spec:
    kubelet:
      flags:
        - --node-labels=team=search
```

```yaml bad frame=class
spec.amiSelectorTerms:
  - alias: bottlerocket@v1.46.0
spec.userData: |
  [settings.kubernetes.node-labels]
  "node-role.kubernetes.io/worker" = ""
```

```yaml good frame=bad
spec.userData: |
  [settings.kubernetes.node-labels]
  "example.com/role" = "worker"
```
"""

import re

from nodelint.api import Context, EC2NodeClass, Edit, Finding, Findings, edits, messages, remedies, rule, userdata

OWN = ("karpenter.sh", "karpenter.k8s.aws")


@rule(
    on=EC2NodeClass,
    group="hazard",
    gives_way_to=["removed-api", "user-data-family"],
    mentions=["userData"],
    subject="user data",
    source=[
        "core:pkg/apis/v1/labels.go@v1.14.0:138",
        "https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/#noderestriction",
    ],
)
def check(node_class: EC2NodeClass, context: Context) -> Findings:
    data = context.user_data(node_class)
    if data is None:
        return
    for label in data.labels():
        at, key = data.places.locate(label.start, label.end), messages.short(label.key, 45)
        if label.domain in OWN or label.domain.endswith(tuple(f".{own}" for own in OWN)):
            yield Finding(
                at=at,
                message=f"Karpenter sets the label `{key}` itself",
                help="remove the label: the NodePool's requirements choose the nodes",
            )
        elif label.refused:
            yield Finding(
                at=at,
                message=f"the kubelet refuses to start with the label `{key}`",
                severity="error",
                help="the kubelet accepts few labels of `kubernetes.io` and `k8s.io`: use your own domain",
                suggestions=remedies.list_suggestions(
                    [("remove the label", _taken_out(data.places, label.start, label.end))]
                ),
            )
    for start, end in data.taints():
        yield Finding(
            at=data.places.locate(start, end),
            message="taints in a kubelet flag replace those that Karpenter sets",
            note="Karpenter plans pods only with the taints of the NodePool",
            help="set the taints in the NodePool's template",
        )


def _taken_out(places: "userdata.ScalarPlaces", start: int, end: int) -> list[Edit]:
    """Return edits that remove a label: its line in TOML, or its entry and a comma in the list of a flag.

    Empty if neither is possible.
    """
    text = places.text
    if text[end:].lstrip(" \t\"'").startswith("=") and not text[start - 1 : start].strip(" \t\"'\n"):
        return remedies.without_line(places, start, end)
    pair = re.compile(r"[\w./-]+=[\w.-]*").match(text, start)
    if pair is None:
        return []
    if text[pair.end() : pair.end() + 1] == ",":
        return edits.if_editable(places.replace, start, pair.end() + 1, "")
    return edits.if_editable(places.replace, start - 1, pair.end(), "") if text[start - 1] == "," else []
