r"""A name pattern finds published images of every Kubernetes version, or images with and without GPU drivers.

Karpenter uses the newest matching image of each architecture, by its creation date. It does not compare the
Kubernetes version. EKS publishes images for all versions within hours, and the order differs each time. A kubelet
that is newer than the API server, or more than three minor versions older, is not supported. Each time an image of
another version is the newest, all nodes of the class drift.

The same problem exists for variants. If the pattern finds `standard` and `nvidia` images, Karpenter uses one of them
for all types. An alias finds the image for the cluster's version, and one image for each kind of type.

```yaml bad frame=class
spec.amiFamily: AL2023
spec.amiSelectorTerms:
  - name: amazon-eks-node-al2023-x86_64-standard-*
```

```yaml good frame=bad
spec.amiSelectorTerms:
  - name: amazon-eks-node-al2023-x86_64-standard-1.33-*
```

```yaml bad frame=class
spec.amiFamily: AL2023
spec.amiSelectorTerms:
  - name: amazon-eks-node-al2023-x86_64-*-1.33-*
```

```yaml good frame=bad
spec.amiSelectorTerms:
  - name: amazon-eks-node-al2023-x86_64-nvidia-1.33-*
```
"""

import re

from nodelint.api import Context, EC2NodeClass, Finding, Findings, images, messages, rule


@rule(
    on=EC2NodeClass,
    group="hazard",
    gives_way_to=["removed-api", "refused-combination"],
    subject="images",
    source=[
        "provider:pkg/providers/amifamily/types.go@v1.14.1:48",
        "https://karpenter.sh/docs/tasks/managing-amis/",
    ],
)
def check(node_class: EC2NodeClass, context: Context) -> Findings:
    for term in node_class.ami_terms:
        node = term.node.get("name")
        if node is None or not isinstance(term.name, str) or not re.search(r"[*?]", term.name) or term.tags:
            continue
        owner = term.owner if isinstance(term.owner, str) or term.owner is None else "self"
        found = images.mixture(term.name, owner)
        if found is None:
            continue
        name, kinds = messages.short(term.name, 40), " and ".join(found.variants[:2])
        yield Finding(
            at=node,
            message=f"`{name}` finds images of all Kubernetes versions: Karpenter uses the newest by date"
            if found.kubernetes
            else f"`{name}` finds {kinds} images: Karpenter uses the newest for all types",
            note=_comes(found),
            help="use an alias, which follows the Kubernetes version, or write the full image name",
        )


def _comes(found: images.Mixture) -> str:
    if found.kubernetes:
        more = ", and with GPU drivers or without" if found.variants else ""
        too = f"nodes may be newer than the control plane or too old for it{more}"
        return f"{too}, and drift when another image is the newest"
    return "the newest image decides whether nodes have drivers; nodes drift when another image is the newest"
