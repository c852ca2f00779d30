r"""An image for another Kubernetes version than the cluster's.

Names and parameters of published images hold the Kubernetes version that they are made for. One that is pinned
stays behind when the cluster is upgraded: the kubelet may be older than the API server by three minor versions, and
never newer. An alias follows the cluster.

It is reported where the cluster's version is known (`--kubernetes-version`, or what the repository states).

```yaml bad kubernetes=1.33
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata:
  name: default
spec:
  role: KarpenterNodeRole-main
  amiFamily: AL2023
  amiSelectorTerms:
    - name: amazon-eks-node-al2023-x86_64-standard-1.30-*
  subnetSelectorTerms:
    - tags:
        karpenter.sh/discovery: main
  securityGroupSelectorTerms:
    - tags:
        karpenter.sh/discovery: main
```

```yaml good kubernetes=1.33
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata:
  name: default
spec:
  role: KarpenterNodeRole-main
  amiFamily: AL2023
  amiSelectorTerms:
    - name: amazon-eks-node-al2023-x86_64-standard-1.33-*
  subnetSelectorTerms:
    - tags:
        karpenter.sh/discovery: main
  securityGroupSelectorTerms:
    - tags:
        karpenter.sh/discovery: main
```
"""

import re

from nodelint.api import Context, EC2NodeClass, Finding, Findings, rule

# A literal version between the signs that published names and parameters have around it.
VERSION = r"(?:^|[-_/])(1\.[0-9]{2})(?=[-_/]|$)"


@rule(on=EC2NodeClass, group="hazard", gives_way_to=["removed-api", "unsupported-alias", "no-image"])
def check(node_class: EC2NodeClass, context: Context) -> Findings:
    cluster = context.kubernetes
    if cluster is None:
        return
    # A name that fits several architectures gives an image for each.
    for image in {id(each.at): each for each in context.images(node_class).images}.values():
        asked = image.name or image.parameter
        found = re.search(VERSION, asked) if asked is not None and image.family is not None else None
        if asked is None or found is None:
            continue
        minor = int(found[1].partition(".")[2])
        behind = cluster.minor - minor
        if behind == 0:
            continue
        refused = behind < 0 or behind > 3
        yield Finding(
            at=image.at,
            message=f"the image is for Kubernetes {found[1]}, but the cluster runs {cluster}",
            severity="error" if refused else None,
            note="a kubelet must not be newer than the API server, nor more than three minor versions older"
            if refused
            else None,
            help=f"use `{asked.replace(found[1], str(cluster))}`, or an alias, which follows the cluster",
        )
