r"""An image term whose owner is `*`: whoever publishes an image of that name decides what your nodes boot.

Names of images are not unique, and anyone can make an image public. Without `owner` Karpenter looks among your own
images and Amazon's; a `*` names neither. Name the account, `self` or `amazon`.

```yaml bad
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata:
  name: default
spec:
  role: KarpenterNodeRole-main
  amiFamily: AL2023
  amiSelectorTerms:
    - name: golden-al2023-*
      owner: "*"
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
  amiFamily: AL2023
  amiSelectorTerms:
    - name: golden-al2023-*
      owner: "self"
  subnetSelectorTerms:
    - tags:
        karpenter.sh/discovery: main
  securityGroupSelectorTerms:
    - tags:
        karpenter.sh/discovery: main
```
"""

from nodelint.api import Context, EC2NodeClass, Finding, Findings, rule


@rule(on=EC2NodeClass, group="hazard", gives_way_to=["removed-api", "foreign-image"])
def check(node_class: EC2NodeClass, context: Context) -> Findings:
    for term in node_class.ami_terms:
        node = term.node.get("owner")
        if node is not None and isinstance(term.owner, str) and "*" in term.owner:
            yield Finding(
                at=node,
                message=f"owner `{term.owner[:20]}` allows every AWS account: anyone can publish a match",
                help="name the account that publishes the image: `self`, `amazon` or an account ID",
            )
