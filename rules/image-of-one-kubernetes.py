r"""An image term that names one Kubernetes version: when the cluster is upgraded, its nodes stay behind.

The names and parameters of published images hold the Kubernetes version that they are made for. An alias follows the
cluster: after an upgrade Karpenter finds the images of the new version and replaces the nodes, within the budgets.
A name or parameter with a version has to be changed by hand, and the kubelet may be three minor versions older than
the API server at most. Where the cluster's version is known and is another, `image-of-another-kubernetes` reports it.

```yaml bad
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata:
  name: default
spec:
  role: KarpenterNodeRole-main
  amiFamily: Bottlerocket
  amiSelectorTerms:
    - ssmParameter: /aws/service/bottlerocket/aws-k8s-1.33/x86_64/1.46.0/image_id
  subnetSelectorTerms:
    - tags:
        karpenter.sh/discovery: main
  securityGroupSelectorTerms:
    - tags:
        karpenter.sh/discovery: main
```

```yaml good
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata:
  name: default
spec:
  role: KarpenterNodeRole-main
  amiFamily: Bottlerocket
  amiSelectorTerms:
    - alias: bottlerocket@v1.46.0
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

# `1.33` of published names, or `1-33` where the name speaks of Kubernetes.
VERSION = r"(?:^|[-_/])1\.([0-9]{2})(?=[-_/*]|$)"
DASHED = r"(?i)(?=.*(?:eks|k8s|kube))(?:.*[-_/])?1-([0-9]{2})(?=[-_/*]|$)"


@rule(
    on=EC2NodeClass,
    group="practice",
    severity="info",
    gives_way_to=["image-of-another-kubernetes", "no-image", "unsupported-alias", "removed-api"],
)
def check(node_class: EC2NodeClass, context: Context) -> Findings:
    told = set()
    for term in node_class.ami_terms:
        for field in ("name", "ssmParameter"):
            node = term.node.get(field)
            found = _version(node.value) if node is not None and isinstance(node.value, str) else None
            if node is None or found is None or found in told:
                continue
            told.add(found)
            yield Finding(
                at=node,
                message=f"the image is for Kubernetes 1.{found} alone: nodes stay there when the cluster is upgraded",
                help="use an alias, which follows the cluster, or change the version with each upgrade",
            )


def _version(text: str) -> str | None:
    found = re.search(VERSION, text) or re.match(DASHED, text)
    return found[1] if found else None
