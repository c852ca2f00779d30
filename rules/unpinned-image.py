r"""The class takes whatever image is newest, so nodes are replaced whenever one is published.

`@latest`, a name with wildcards and a `recommended` SSM parameter stand for another image as soon as AWS, or your
pipeline, publishes one. Karpenter then counts all nodes of the old image as drifted and replaces them, within the
pool's disruption budgets, in every cluster at once. Many mean it; where images are to be tried in one environment
before the next, pin a version and move it by a merge. This rule is off unless it is selected.

```yaml bad
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata:
  name: default
spec:
  role: KarpenterNodeRole-main
  amiSelectorTerms:
    - alias: al2023@latest
  subnetSelectorTerms:
    - tags: {karpenter.sh/discovery: main}
  securityGroupSelectorTerms:
    - tags: {karpenter.sh/discovery: main}
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
    - tags: {karpenter.sh/discovery: main}
  securityGroupSelectorTerms:
    - tags: {karpenter.sh/discovery: main}
```

```yaml bad
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata:
  name: golden
spec:
  amiFamily: Bottlerocket
  role: KarpenterNodeRole-main
  amiSelectorTerms: [{name: "golden-bottlerocket-*", owner: "self"}]
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
```

```yaml good
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata:
  name: golden
spec:
  amiFamily: Bottlerocket
  role: KarpenterNodeRole-main
  amiSelectorTerms: [{name: "golden-bottlerocket-42", owner: "self"}]
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
```
"""

import re

from nodelint.finding import Finding, Findings, short
from nodelint.images import families, family_example, images_of
from nodelint.manifest import EC2NodeClass
from nodelint.rule import Context, rule
from nodelint.source import UNKNOWN


@rule(on=EC2NodeClass, severity="info", gives_way_to=["unsupported-alias"], default=False)
def check(node_class: EC2NodeClass, context: Context) -> Findings:
    images = images_of(node_class, context.karpenter, context.kubernetes)
    alias, node = images.alias, images.alias_node
    if alias is not None and node is not None:
        if alias.version == "latest" and alias.family in families() and node.value is not UNKNOWN:
            example = family_example(alias.family)
            # The Windows aliases have no version but latest.
            if not example.endswith("@latest"):
                message = f"`{alias.family}@latest` replaces nodes whenever an image is published"
                yield Finding(at=node, message=message, hint=f"pin a version that you have tried: `{example}`")
        return
    for term in node_class.ami_terms:
        name, parameter = term.node.get("name"), term.node.get("ssmParameter")
        if name is not None and isinstance(term.name, str) and re.search(r"[*?]", term.name):
            message = f"the newest image named `{short(term.name)}` replaces nodes when it is registered"
            yield Finding(at=name, message=message, hint="name one image in full, or choose it by id")
        elif (
            parameter is not None
            and isinstance(term.ssm_parameter, str)
            and re.search(r"/(recommended|latest|current)(/|$)", term.ssm_parameter)
        ):
            message = f"`{short(term.ssm_parameter)}` replaces nodes whenever an image is published"
            yield Finding(at=parameter, message=message, hint="name the parameter of one version")
