"""A module of Terraform gives the controller the permissions of older releases of Karpenter.

Version 20 of the submodule `karpenter` of terraform-aws-modules/eks has two policies: with `enable_v1_permissions`
one for Karpenter 1.0 and later, without it, which is the default, one for 0.33 to 0.37. A controller that serves `v1`
asks for more than the old one grants: it tags instances after their launch, and is refused (`not authorized to
perform: ec2:CreateTags`). Version 21 has the new policy alone. The rule looks at modules of version 20 beside which
all NodePools and EC2NodeClasses are `v1`.

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

From 1.7.0 on the controller also lists instance profiles. Version 21.2.0 of the submodule grants
`iam:ListInstanceProfiles`, and so does version 1.23.0 of aws-ia/eks-blueprints-addons; no older version does. Without
it nodes are launched, but an EC2NodeClass that is deleted stays (its finalizer lists the profiles first), and so do
the profiles that Karpenter no longer uses. The rule looks at modules whose version is known, beside objects for which
files state Karpenter 1.7.0 or newer, and is silent where the call adds permissions of its own.

```yaml bad karpenter=1.8.3
# file: main.tf
module "karpenter" {
  source       = "terraform-aws-modules/eks/aws//modules/karpenter"
  version      = "21.1.0"
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

```yaml good karpenter=1.8.3
# file: main.tf
module "karpenter" {
  source       = "terraform-aws-modules/eks/aws//modules/karpenter"
  version      = "21.2.0"
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
"""

import os
import re
from collections.abc import Iterator

from nodelint.api import Context, Finding, Findings, Object, Source, Span, releases, rule, support

_MODULE = re.compile(r'(?m)^module[ \t]+"[^"\n]*"[ \t]*\{[ \t]*$')
_SOURCE = re.compile(r'(?m)^[ \t]+source\s*=\s*"([^"\n]*)"')
_VERSION = re.compile(r'(?m)^[ \t]+version\s*=\s*("[^"\n]*")')

LISTS_PROFILES = releases.Version(1, 7, 0)
"""The first release that asks for `iam:ListInstanceProfiles`."""


@rule(
    on=Source,
    group="hazard",
    subject="migration",
    source=[
        "https://github.com/terraform-aws-modules/terraform-aws-eks/issues/3305",
        "https://github.com/terraform-aws-modules/terraform-aws-eks/issues/3134",
        "https://karpenter.sh/v1.0/upgrading/v1-migration/",
        "provider:pkg/controllers/nodeclass/controller.go@v1.8.1:169",
        "https://karpenter.sh/docs/upgrading/upgrade-guide/#upgrading-to-170",
    ],
)
def check(source: Source, context: Context) -> Findings:
    if not source.path.endswith((".tf", ".tofu")):
        return
    for start, block in _find_modules(source.text):
        called, version = _SOURCE.search(block), _VERSION.search(block)
        module = support.policy_module(called[1]) if called is not None else None
        most = _find_newest(version[1]) if version is not None else None
        if module is None or version is None or most is None or not _is_granting(block, module):
            continue
        objects = _find_beside(source, context)
        stated = [context.stated_releases(obj) for obj in objects]
        lists = all(found and min(found) >= LISTS_PROFILES for found in stated)
        if not objects or any(obj.version != "v1" for obj in objects):
            continue
        at = Span(source, start + version.start(1), start + version.end(1))
        ways = [f"move to version {'.'.join(map(str, module.lists_profiles))} of the module or newer"]
        if most < module.v1_always and module.v1_switch and not re.search(rf"\b{module.v1_switch}\s*=", block):
            if not lists:
                ways = [_describe_switch(module, most), "move to version 21 of the module"]
            yield Finding(
                at=at,
                message="version 20 of this module grants what Karpenter 0.33 to 0.37 needs, and the objects are v1",
                note="the controller is refused where it tags instances: `ec2:CreateTags`",
                help=", or ".join(ways),
            )
        elif lists and most < module.lists_profiles and not re.search(rf"\b{module.extra}\s*=", block):
            yield Finding(
                at=at,
                message="Karpenter 1.7 and newer need `iam:ListInstanceProfiles`, which this version does not grant",
                note="nodes are launched; an EC2NodeClass that is deleted stays, as do instance profiles of no use",
                help=f"{ways[0]}, or grant it by `{module.extra}`",
            )


def _is_granting(block: str, module: support.PolicyModule) -> bool:
    """Whether the call makes the controller's policy, as far as it says."""
    if re.search(r"(?m)^[ \t]+create(?:_iam_role)?\s*=\s*false", block):
        return False
    return module.only is None or re.search(rf"(?m)^[ \t]+{module.only}\s*=\s*true", block) is not None


def _describe_switch(module: support.PolicyModule, most: tuple[float, ...]) -> str:
    """How to grant what v1 asks for: the switch is an unknown argument before its version."""
    since = "" if most >= module.v1_since else f" with version {'.'.join(map(str, module.v1_since))} or newer"
    return f"set `{module.v1_switch} = true`{since}"


def _find_newest(constraint: str) -> tuple[float, ...] | None:
    """The newest version that a constraint of Terraform's allows, endless where it leaves a number open."""
    found = re.fullmatch(r'"\s*+(?:(=|~>)\s*+)?v?(\d+(?:\.\d+){0,2})\s*+"', constraint)
    if found is None:
        return None
    numbers: list[float] = [int(number) for number in found[2].split(".")]
    if found[1] == "~>":
        numbers[-1] = float("inf")  # of a single number, too: `~> 20` allows 21
    return tuple(numbers)


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
