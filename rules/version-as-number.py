"""A version is written as a number that ends with 0, such as 1.30: Terraform and YAML read 1.3.

A number has no trailing zeros. Terraform turns `1.30` into the string `"1.3"` wherever a string is wanted, also if
the variable has the type `string`. EKS then refuses the cluster: "unsupported Kubernetes version". The versions
before and after, such as 1.29 and 1.31, work without quotes, so the mistake shows only at 1.20, 1.30 and 1.40.

The rule follows the version of the cluster, of the module for EKS and of node groups through variables, files of
variables, locals and calls of modules. In the ClusterConfig of eksctl, and as the version of a chart in a HelmRelease
of Flux or an Application of Argo CD, a number is always refused: the fields take a string.

There is no fix: the value may stand in a file that nodelint does not change.

```yaml bad
# file: main.tf
variable "cluster_version" {
  type    = string
  default = 1.30
}
module "eks" {
  source          = "terraform-aws-modules/eks/aws"
  version         = "~> 20.0"
  cluster_version = var.cluster_version
  node_security_group_tags = { "karpenter.sh/discovery" = "main" }
}
```

```yaml good diff=bad
-  default = 1.30
+  default = "1.30"
```

```yaml bad
# file: cluster.yaml
apiVersion: eksctl.io/v1alpha5
kind: ClusterConfig
metadata:
  name: main
  version: 1.30
karpenter:
  version: 1.8.1
```

```yaml good diff=bad
-  version: 1.30
+  version: "1.30"
```
"""

import re
from collections.abc import Iterator, Sequence

from nodelint.api import Also, Context, Finding, Findings, Node, Source, Span, rule

TYPE_CHECKING = False

if TYPE_CHECKING:
    from nodelint.api import terraform_trace

_NUMBER = re.compile(r"1\.[1-9]0")
_MODULE = re.compile(r'(?m)^[ \t]*source\s*=\s*"(?:registry\.terraform\.io/)?terraform-aws-modules/eks/aws["/]')
_OF_MODULE = ("cluster_version", "kubernetes_version")
_OF_RESOURCES = {"aws_eks_cluster": ("version",), "aws_eks_node_group": ("version",)}
_INPUT = re.compile(
    r"(?m)^[ \t]*(?:(?:eks|k8s|kubernetes|cluster)_)++version[ \t]*+=[ \t]*+(1\.[1-9]0)[ \t]*+,?[ \t]*+(?:#.*)?\r?$"
)
"""A version in the inputs of a unit of Terragrunt."""
_FIELDS = {
    "ClusterConfig": ("eksctl refuses the file", (("metadata", "version"), ("karpenter", "version"))),
    "HelmRelease": ("the API server refuses the object", (("spec", "chart", "spec", "version"),)),
    "Application": ("the API server refuses the object", (("spec", "source", "targetRevision"),)),
}
"""Fields of objects that take a version as a string, and what refuses a number there."""


@rule(
    on=Source,
    group="correctness",
    subject="migration",
    mentions=[
        *("aws_eks_cluster", "aws_eks_node_group", "terraform-aws-modules/eks/aws", "inputs"),
        *("eksctl.io/", "HelmRelease", "Application"),
    ],
    tags=["root-module"],
    source=[
        "https://developer.hashicorp.com/terraform/language/expressions/types#type-conversion",
        "https://docs.aws.amazon.com/eks/latest/APIReference/API_CreateCluster.html",
        "https://eksctl.io/usage/schema/",
    ],
)
def check(source: Source, context: Context) -> Findings:
    if source.built is not None:
        return
    if source.path.endswith((".yaml", ".yml")):
        for document in source.documents:
            yield from _check_object(document.root)
    if source.path.endswith("terragrunt.hcl"):
        for found in _INPUT.finditer(source.text):
            yield _report(Span(source, *found.span(1)), found[1])
    if not source.path.endswith((".tf", ".tofu")):
        return
    blocks = context.run_files.terraform
    places = set()
    for block, name in _list_arguments(blocks.find_in(source.path)):
        for value in blocks.argument_values(block, name):
            node = value.value
            at = Span(node.source, node.start, node.end)
            written = node.source.text[node.start : node.end]
            if _NUMBER.fullmatch(written) is None or str(node.value) != written[:-1] or at in places:
                continue
            places.add(at)
            is_elsewhere = (node.source, node.start) != (value.at.source, value.at.start)
            yield _report(at, written, value.at if is_elsewhere else None)


def _report(at: Span, written: str, argument: Span | None = None) -> Finding:
    return Finding(
        at=at,
        message=f"the number `{written}` becomes `{written[:-1]}`, and EKS knows no such Kubernetes version",
        also=[Also(argument, "the version of the cluster")] if argument is not None else [],
        help=f'write `"{written}"`',
    )


def _list_arguments(
    blocks: "Sequence[terraform_trace.BlockText]",
) -> "Iterator[tuple[terraform_trace.BlockText, str]]":
    """Yield the blocks that take a version of Kubernetes, each with the name of the argument."""
    for block in blocks:
        is_module = block.address.startswith("module.") and _MODULE.search(block.text) is not None
        for name in _OF_MODULE if is_module else _OF_RESOURCES.get(block.kind, ()):
            yield block, name


def _check_object(root: Node | None) -> Findings:
    """Yield a finding for each number in a field that takes a version as a string."""
    kind = root.get("kind") if root is not None else None
    if root is None or kind is None or str(kind.value) not in _FIELDS:
        return
    effect, paths = _FIELDS[str(kind.value)]
    for path in paths:
        version = root.find(*path)
        if version is not None and isinstance(version.value, int | float) and not isinstance(version.value, bool):
            written = version.source.text[version.start : version.end]
            yield Finding(
                at=version,
                message=f"the version `{written}` is a number, and the field takes a string: {effect}",
                help=f'write `"{written}"`',
            )
