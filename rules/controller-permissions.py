"""Terraform's module for Karpenter gives the controller the permissions of releases before 1.0.

Version 20 of the submodule `karpenter` of terraform-aws-modules/eks has two policies: with `enable_v1_permissions`
one for Karpenter 1.0 and later, without it, which is the default, one for 0.33 to 0.37. A controller that serves `v1`
asks for more than the old one grants: it tags instances after their launch, and is refused (`not authorized to
perform: ec2:CreateTags`). Version 21 has the new policy alone.

The rule looks at modules of version 20 beside which all NodePools and EC2NodeClasses are `v1`.

```yaml bad
# file: karpenter.tf
module "karpenter" {
  source       = "terraform-aws-modules/eks/aws//modules/karpenter"
  version      = "20.36.0"
  cluster_name = module.eks.cluster_name
}
# file: pool.yaml
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: default
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        - {key: kubernetes.io/arch, operator: In, values: [amd64]}
```

```yaml good
# file: karpenter.tf
module "karpenter" {
  source                = "terraform-aws-modules/eks/aws//modules/karpenter"
  version               = "20.36.0"
  cluster_name          = module.eks.cluster_name
  enable_v1_permissions = true
}
# file: pool.yaml
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: default
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        - {key: kubernetes.io/arch, operator: In, values: [amd64]}
```
"""

import os
import re
from collections.abc import Iterator

from nodelint.api import Context, Finding, Findings, Object, Source, Span, rule

_MODULE = re.compile(r'(?m)^module[ \t]+"[^"\n]*"[ \t]*\{[ \t]*$')
_SUBMODULE = re.compile(r'(?m)^[ \t]+source\s*=\s*"[^"\n]*terraform-aws-modules/eks/aws//modules/karpenter"')
_VERSION = re.compile(r'(?m)^[ \t]+version\s*=\s*("[=~> v]*20\.[0-9.]+")')
_SET = re.compile(r"(?m)^[ \t]+enable_v1_permissions\s*=")


@rule(
    on=Source,
    group="hazard",
    subject="migration",
    source=[
        "https://github.com/terraform-aws-modules/terraform-aws-eks/issues/3305",
        "https://github.com/terraform-aws-modules/terraform-aws-eks/issues/3134",
        "https://karpenter.sh/v1.0/upgrading/v1-migration/",
    ],
)
def check(source: Source, context: Context) -> Findings:
    if "//modules/karpenter" not in source.text or not source.path.endswith((".tf", ".tofu")):
        return
    for start, block in _find_modules(source.text):
        version = _VERSION.search(block)
        if version is None or _SUBMODULE.search(block) is None or _SET.search(block) is not None:
            continue
        objects = _find_beside(source, context)
        if objects and all(obj.version == "v1" for obj in objects):
            yield Finding(
                at=Span(source, start + version.start(1), start + version.end(1)),
                message="version 20 of this module grants what Karpenter 0.33 to 0.37 needs, and the objects are v1",
                note="the controller is refused where it tags instances: `ec2:CreateTags`",
                help="set `enable_v1_permissions = true`, or move to version 21 of the module",
            )


def _find_modules(text: str) -> Iterator[tuple[int, str]]:
    """The blocks of modules: each ends with the first brace that begins a line, as `terraform fmt` writes it."""
    at = 0
    while (begun := _MODULE.search(text, at)) is not None and (at := text.find("\n}", begun.end())) >= 0:
        yield begun.start(), text[begun.start() : at]


def _find_beside(source: Source, context: Context) -> list[Object]:
    """Karpenter's objects below the nearest folder around a file that holds any."""
    folder = os.path.dirname(source.path)
    while True:
        below = os.path.join(folder, "")
        found = [obj for obj in context.objects if not folder or obj.source.path.startswith(below)]
        if found or not folder or folder == os.path.dirname(folder):
            return found
        folder = os.path.dirname(folder)
