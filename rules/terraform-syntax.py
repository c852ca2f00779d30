"""Terraform or Terragrunt cannot read a file of the module that creates the NodePools or classes.

`terraform plan` stops at the first file with a syntax error, so nothing of the module is applied. nodelint skips the
file. What other files take from it, such as a variable, is then not known. A run with this finding ends with exit
code 2, because objects in the file were not judged.

nodelint reads the files as Terraform does: it reports the first place that Terraform refuses. It also reports the
files of a Terragrunt unit that calls the module: its `terragrunt.hcl`, and the files that it includes or reads. It
does not report files of other modules, and does not check JSON syntax (`.tf.json`). There is no fix, because only the
author knows what the text means.

```yaml bad
# file: main.tf
module "karpenter" {
  source       = "terraform-aws-modules/eks/aws//modules/karpenter"
  version      = "21.19.0"
  cluster_name "main"
}
resource "kubectl_manifest" "pool" {
  yaml_body = file("${path.module}/karpenter.yaml")
}
```

```yaml good
# file: main.tf
module "karpenter" {
  source       = "terraform-aws-modules/eks/aws//modules/karpenter"
  version      = "21.19.0"
  cluster_name = "main"
}
resource "kubectl_manifest" "pool" {
  yaml_body = file("${path.module}/karpenter.yaml")
}
```
"""

from nodelint.api import Context, Finding, Findings, Source, Span, rule, terraform_blocks


@rule(
    on=Source,
    group="correctness",
    subject="templates",
    source="https://github.com/hashicorp/hcl/blob/v2.24.0/hclsyntax/spec.md",
    tags=["syntax", "terraform"],
)
def check(source: Source, context: Context) -> Findings:
    found = terraform_blocks.find_syntax_error(source)
    if found is not None:
        offset, message = found
        end = source.text.find("\n", offset)
        at = Span(source, offset, max(offset, min(offset + 1, end if end >= 0 else len(source.text))))
        note = "`terraform plan` fails with this error; nodelint judges nothing in this file until it is corrected"
        if source.path.endswith(".hcl"):
            note = "Terragrunt fails with this error, and nodelint uses no input of the units that read the file"
        yield Finding(at=at, message=message, note=note)
