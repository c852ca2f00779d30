"""A version is written as a number that ends with 0, such as 1.30: Terraform and YAML read 1.3.

A number has no trailing zeros. Terraform turns `1.30` into the string `"1.3"` wherever a string is wanted, also if
the variable has the type `string`. EKS then refuses the cluster: "unsupported Kubernetes version". The versions
before and after, such as 1.29 and 1.31, work without quotes, so the mistake shows only at 1.20, 1.30 and 1.40.

The rule follows the version of the cluster, of the module for EKS and of node groups through variables, files of
variables, locals and calls of modules. In the ClusterConfig of eksctl, a version without quotes is always refused:
the field takes a string.

There is no edit: the value may stand in a file that nodelint does not change.

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

```yaml good
# file: main.tf
variable "cluster_version" {
  type    = string
  default = "1.30"
}
module "eks" {
  source          = "terraform-aws-modules/eks/aws"
  version         = "~> 20.0"
  cluster_version = var.cluster_version
  node_security_group_tags = { "karpenter.sh/discovery" = "main" }
}
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

```yaml good
# file: cluster.yaml
apiVersion: eksctl.io/v1alpha5
kind: ClusterConfig
metadata:
  name: main
  version: "1.30"
karpenter:
  version: 1.8.1
```
"""

import re
from collections.abc import Iterator

from nodelint.api import Also, Context, Finding, Findings, Node, Source, Span, rule, terraform_blocks

_NUMBER = re.compile(r"1\.[1-9]0")
_MODULE = re.compile(r'(?m)^[ \t]*source\s*=\s*"(?:registry\.terraform\.io/)?terraform-aws-modules/eks/aws["/]')
_OF_MODULE = ("cluster_version", "kubernetes_version")
_OF_RESOURCES = {"aws_eks_cluster": ("version",), "aws_eks_node_group": ("version",)}


@rule(
    on=Source,
    group="correctness",
    subject="migration",
    mentions=["aws_eks_cluster", "aws_eks_node_group", "terraform-aws-modules/eks/aws", "eksctl.io/"],
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
    for document in source.documents if "eksctl.io/" in source.text else ():
        yield from _check_cluster_config(document.root)
    if not source.path.endswith((".tf", ".tofu")):
        return
    blocks = context.run_files.terraform
    places = set()
    for block, name in _list_arguments(source):
        for value in blocks.argument_values(block, name):
            node = value.value
            at = Span(node.source, node.start, node.end)
            written = node.source.text[node.start : node.end]
            if _NUMBER.fullmatch(written) is None or str(node.value) != written[:-1] or at in places:
                continue
            places.add(at)
            is_elsewhere = (node.source, node.start) != (value.at.source, value.at.start)
            yield Finding(
                at=at,
                message=f"the number `{written}` becomes `{written[:-1]}`, and EKS knows no such Kubernetes version",
                also=[Also(value.at, "the version of the cluster")] if is_elsewhere else [],
                help=f'write `"{written}"`',
            )


def _list_arguments(source: Source) -> "Iterator[tuple[terraform_blocks.BlockText, str]]":
    """Yield the blocks that take a version of Kubernetes, each with the name of the argument."""
    for block in terraform_blocks.find_blocks(source):
        is_module = block.address.startswith("module.") and _MODULE.search(block.text) is not None
        for name in _OF_MODULE if is_module else _OF_RESOURCES.get(block.kind, ()):
            yield block, name


def _check_cluster_config(root: Node | None) -> Findings:
    kind = root.get("kind") if root is not None else None
    version = root.find("metadata", "version") if root is not None else None
    if kind is None or kind.value != "ClusterConfig" or version is None:
        return
    if isinstance(version.value, int | float) and not isinstance(version.value, bool):
        written = version.source.text[version.start : version.end]
        yield Finding(
            at=version,
            message=f"the version `{written}` is a number: eksctl takes a string and refuses the file",
            help=f'write `"{written}"`',
        )
