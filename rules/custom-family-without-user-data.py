r"""A class of the family `Custom` without user data: its nodes do not learn which cluster to join.

For `Custom` Karpenter adds nothing to the user data: no bootstrap call, no labels, no taints, none of
`spec.kubelet`. Only an image that joins the cluster by itself works without. Where the images are those of a family
that Karpenter knows, leave `amiFamily` to it.

```yaml bad
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata:
  name: default
spec:
  role: KarpenterNodeRole-main
  amiFamily: Custom
  amiSelectorTerms:
    - alias: al2023@v20250403
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
  amiSelectorTerms:
    - alias: al2023@v20250403
  subnetSelectorTerms:
    - tags:
        karpenter.sh/discovery: main
  securityGroupSelectorTerms:
    - tags:
        karpenter.sh/discovery: main
```
"""

from nodelint.api import Context, EC2NodeClass, Finding, Findings, edits, images, rule


@rule(on=EC2NodeClass, group="hazard", fix="unsafe", gives_way_to=["removed-api"])
def check(node_class: EC2NodeClass, context: Context) -> Findings:
    field = node_class.node.at("spec", "amiFamily")
    data = node_class.node.at("spec", "userData")
    if field is None or field.value != "Custom" or node_class.partial:
        return
    if data is not None and not (isinstance(data.value, str) and not data.value.strip()) and data.value is not None:
        return
    alias = next((term for term in node_class.ami_terms if isinstance(term.alias, str)), None)
    known = alias is not None and str(alias.alias).partition("@")[0] in images.families()
    yield Finding(
        at=field,
        message="amiFamily `Custom` without userData: a node does not learn which cluster to join",
        severity="error" if known else None,
        edits=edits.if_editable(edits.remove, field) if known else (),
        help="remove amiFamily: the alias implies it"
        if known
        else "add userData that joins the cluster, unless the image does that itself",
    )
