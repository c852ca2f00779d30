"""An image that is found by name or tag, and no `owner` that says whose it has to be.

By name Karpenter then takes images of your account and of Amazon's: a name that fits one of Amazon's public images
as well brings that one to the nodes as soon as it is newer. By tag it asks for the images of everybody. An owner
(`self`, an account id, an alias such as `amazon`) says whose images may boot.

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
      owner: self
  subnetSelectorTerms:
    - tags:
        karpenter.sh/discovery: main
  securityGroupSelectorTerms:
    - tags:
        karpenter.sh/discovery: main
```
"""

from nodelint.api import Context, EC2NodeClass, Finding, Findings, messages, rule


@rule(
    on=EC2NodeClass,
    group="practice",
    gives_way_to=["foreign-image", "no-image", "image-discovery-tag", "refused-combination", "removed-api"],
)
def check(node_class: EC2NodeClass, context: Context) -> Findings:
    for term in node_class.ami_terms:
        if term.node.get("owner") is not None:
            continue
        node = term.node.get("name") or term.node.get("tags")
        if node is None or term.node.get("id") is not None:
            continue
        at = term.node.key("name") or term.node.key("tags") or node
        name = f" `{messages.short(term.name, 24)}`" if isinstance(term.name, str) else ""
        what, whose = ("name", "yours and Amazon's") if term.name is not None else ("tag", "those of any account")
        yield Finding(
            at=at,
            message=f"no owner: of images with this {what}{name}, {whose} count",
            help="add `owner: self`, or the id of the account that makes the image",
        )
