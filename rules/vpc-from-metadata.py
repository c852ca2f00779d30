"""The AWS Load Balancer Controller has no `vpcId` and cannot reach the metadata service, so it does not start.

Without `vpcId` (or `vpcTags`), the controller asks the metadata service for the VPC of its node. A packet from a pod
needs one hop more than a packet from the node, and in v1 `httpPutResponseHopLimit` is 1 by default. On such a node
the controller fails with `failed to get VPC ID`, unless it uses the host's network.

The rule reads HelmReleases, Applications and `helm_release`. It reports nothing if values may be elsewhere, if the
controller is restricted to some nodes, or if a class has a higher or unknown limit.

```yaml bad
# file: controller.yaml
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: aws-load-balancer-controller, namespace: kube-system}
spec:
  chart: {spec: {chart: aws-load-balancer-controller, version: 1.8.1}}
  values: {clusterName: main}
# file: class.yaml
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata:
  name: default
spec:
  role: karpenter-nodes
  amiSelectorTerms: [{alias: al2023@v20260714}]
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
```

```yaml good diff=bad
-  values: {clusterName: main}
+  values: {clusterName: main, region: eu-west-1, vpcId: vpc-0123456789abcdef0}
```
"""

import re
from collections.abc import Iterator

from nodelint.api import Also, Context, EC2NodeClass, Finding, Findings, Source, Span, rule, terraform_blocks

_CHART = "aws-load-balancer-controller"
_SETTLED = r"(?i)vpc[-_]?id|vpc[-_]?tags|hostNetwork|nodeSelector|affinity|values?Files?\b|valuesFrom|values\.ya?ml"
_ELSEWHERE = (
    r"\b(?:file|templatefile|merge|concat)\(|\bfor\b|\bdynamic\b|\b(?:count|for_each)\s*="
    r"|\bvalues\s*+=\s*+(?!\[\s*+(?:yamlencode|jsonencode|<<))|\bset\s*+=\s*+(?!\[)"
)
_NAMED = rf"""(?m)^[ \t]*+chart[ \t]*+=[ \t]*+"(?:[^"\n]*/)?{_CHART}\""""


@rule(
    on=EC2NodeClass,
    group="hazard",
    severity="info",
    subject="network",
    source=[
        "https://github.com/kubernetes-sigs/aws-load-balancer-controller/issues/3818",
        "provider:pkg/apis/v1/ec2nodeclass.go@v1.14.1:344",
    ],
)
def check(node_class: EC2NodeClass, context: Context) -> Findings:
    if not _holds_pods_off(node_class):
        return
    around = context.run_files.files_with(_CHART, around=True)
    if not around:
        return
    classes = [obj for obj in context.objects if isinstance(obj, EC2NodeClass)]
    # There is one controller: report it at one of several classes.
    if not all(map(_holds_pods_off, classes)) or classes[:1] != [node_class]:
        return
    texts = [file.text for file in around]
    # A file that gives it a VPC may be one of values.
    if any(re.search(_SETTLED, text) and not _has_kind(text) for text in texts):
        return
    installs = [found for file in around for found in _find_installs(file)]
    for text, at in installs[:1]:
        if any(re.search(_SETTLED, other) for other, _ in installs) or "{{" in text:
            continue
        options = node_class.metadata_options_node
        written = options.get("httpPutResponseHopLimit") if options is not None else None
        yield Finding(
            at=written or node_class.node.find("metadata", "name") or node_class.node,
            message="with hop limit 1, the AWS Load Balancer Controller without `vpcId` does not start on these "
            "nodes",
            also=[Also(at, "has no `vpcId`")],
            help="set `vpcId` and `region` in the values of its chart",
        )


def _holds_pods_off(node_class: EC2NodeClass) -> bool:
    """Return whether pods on nodes of a class cannot reach the metadata service, because its hop limit is 1."""
    if not node_class.api_version.endswith("/v1"):
        return False
    options = node_class.metadata_options_node
    if options is None:
        return not node_class.partial and node_class.node.get("spec") is not None
    limit = options.get("httpPutResponseHopLimit")
    return options.kind == "mapping" and (limit is None or limit.value == 1) and not node_class.partial


def _has_kind(text: str) -> bool:
    return re.search(r"(?m)^kind:|^resource\b|^module\b", text) is not None


def _find_installs(file: Source) -> Iterator[tuple[str, Span]]:
    """Yield the text and the place of each installation of the AWS Load Balancer Controller in a file."""
    if file.path.endswith((".tf", ".tofu")):
        for block in terraform_blocks.find_blocks(file):
            if block.kind == "helm_release" and re.search(_NAMED, block.text):
                yield ("vpcId" if re.search(_ELSEWHERE, block.text) else block.text), block.at
        return
    for document in Source.from_text(file.path, file.text, _CHART).documents:
        root = document.root
        kind = root.get("kind") if root is not None else None
        if root is None or kind is None or kind.value not in ("HelmRelease", "Application"):
            continue
        places = (root.find("spec", "chart", "spec", "chart"), root.find("spec", "source", "chart"))
        for place in places:
            if place is not None and place.value == _CHART:
                yield file.text[root.start : root.end], Span(file, place.start, place.end)
