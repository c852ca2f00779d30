r"""A name pattern that finds published images of every Kubernetes version, or with and without GPU drivers.

Of the images that a name finds, Karpenter takes the newest of each architecture, by the day of its registration. It
does not look for the Kubernetes version: EKS publishes images for all versions within hours of each other, and which
comes last differs from release to release. A kubelet that is newer than the API server is not supported, one that is
four minor versions older neither. Each time another version wins, all nodes of the class drift.

The same holds for variants: where the pattern finds `standard` and `nvidia` images, one of them is used for all
types. An alias finds the image for the version of the cluster, and one for each kind of type.

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
            message=f"`{name}` finds images of all Kubernetes versions: the newest by date is taken"
            if found.kubernetes
            else f"`{name}` finds {kinds} images: the newest is used for all types",
            note=_comes(found),
            help="use an alias, which follows the cluster, or write the name out",
        )


def _comes(found: images.Mixture) -> str:
    if found.kubernetes:
        more = ", and with GPU drivers or without" if found.variants else ""
        too = f"nodes may be newer than the control plane or too old for it{more}"
        return f"{too}, and drift when another image is the newest"
    return "the newest image decides whether nodes have drivers; they drift when another image is the newest"
