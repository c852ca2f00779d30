"""A cluster of EKS is given a Kubernetes version with a patch, such as 1.36.1. EKS takes only 1.36.

EKS chooses the patch itself, with its platform version. It refuses a version with a patch: "unsupported Kubernetes
version". eksctl refuses it before it calls EKS. The cluster is never created, or an upgrade fails. The rule reads
`aws_eks_cluster`, the module `terraform-aws-modules/eks/aws`, and the ClusterConfig of eksctl.

There is no fix: the version is Terraform's, and often the default of a variable.

```yaml bad
# file: main.tf
module "eks" {
  source             = "terraform-aws-modules/eks/aws"
  version            = "21.19.0"
  name               = "main"
  kubernetes_version = "1.36.1"
  node_security_group_tags = { "karpenter.sh/discovery" = "main" }
}
```

```yaml good diff=bad
-  kubernetes_version = "1.36.1"
+  kubernetes_version = "1.36"
```
"""

import re

from nodelint.api import Also, Context, Finding, Findings, Node, Source, Span, rule, terraform_blocks

_PATCH = re.compile(r"v?(1\.\d{2})\.\d{1,3}(?:[-+].*)?|v(1\.\d{2})")
_MODULE = re.compile(r'(?m)^[ \t]*source\s*=\s*"(?:registry\.terraform\.io/)?terraform-aws-modules/eks/aws"')
_ARGUMENTS = ("version", "cluster_version", "kubernetes_version")


@rule(
    on=Source,
    group="correctness",
    subject="migration",
    mentions=["aws_eks_cluster", "terraform-aws-modules/eks/aws", "terraform-aws-eks", "eksctl.io/"],
    source=[
        "https://docs.aws.amazon.com/eks/latest/APIReference/API_CreateCluster.html",
        "https://docs.aws.amazon.com/eks/latest/userguide/platform-versions.html",
    ],
)
def check(source: Source, context: Context) -> Findings:
    if source.built is not None:
        return
    for document in source.documents if "eksctl.io/" in source.text else ():
        root = document.root
        version = root.find("metadata", "version") if root is not None and _is_cluster_config(root) else None
        found = _PATCH.fullmatch(version.value) if version is not None and isinstance(version.value, str) else None
        if version is not None and found is not None:
            yield _report(Span(source, version.start, version.end), str(version.value), found)
    for block in terraform_blocks.find_blocks(source) if source.path.endswith((".tf", ".tofu")) else ():
        is_module = block.address.startswith("module.") and _MODULE.search(block.text) is not None
        if not is_module and block.kind != "aws_eks_cluster":
            continue
        for name in _ARGUMENTS[1:] if is_module else _ARGUMENTS[:1]:
            for value in context.run_files.terraform.argument_values(block, name):
                text = value.value.value
                found = _PATCH.fullmatch(text) if isinstance(text, str) else None
                if found is not None:
                    yield _report(value.at, str(text), found, value.value)
                    break


def _is_cluster_config(root: Node) -> bool:
    kind = root.get("kind")
    return kind is not None and kind.value == "ClusterConfig"


def _report(at: Span, version: str, found: "re.Match[str]", written: "Node | None" = None) -> Finding:
    is_elsewhere = written is not None and (written.source is not at.source or written.start != at.start)
    return Finding(
        at=at,
        message=f"EKS knows no Kubernetes version `{version}`, only `{found[1] or found[2]}`: it refuses the cluster",
        also=[Also(Span(written.source, written.start, written.end), "written here")]
        if written is not None and is_elsewhere and isinstance(written.source, Source)
        else [],
        help=f"write `{found[1] or found[2]}`: EKS chooses the patch",
    )
