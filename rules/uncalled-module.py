"""No root module calls the module that installs Karpenter, although roots call its neighbours.

Terraform applies what a root module calls, directly or through other modules. A module that nothing calls creates
nothing: there is no controller, and there are no CRDs for its NodePools.

The rule looks at modules in a folder `modules` that install Karpenter's chart. It reports nothing if no root calls
a module of the same folder: the repository may be a collection for others. It also reports nothing in a repository
with Terragrunt.

```yaml bad
# file: modules/karpenter/main.tf
resource "helm_release" "karpenter" {
  name       = "karpenter"
  namespace  = "kube-system"
  repository = "oci://public.ecr.aws/karpenter"
  chart      = "karpenter"
  version    = "1.14.1"
  values     = [yamlencode({ settings = { clusterName = "main", interruptionQueue = "main" } })]
}
# file: modules/vpc/main.tf
resource "aws_vpc" "main" {
  cidr_block = "10.0.0.0/16"
}
# file: main.tf
module "vpc" {
  source = "./modules/vpc"
}
```

```yaml good diff=bad
   source = "./modules/vpc"
 }
+module "karpenter" {
+  source = "./modules/karpenter"
+}
```
"""

import os
import re

from nodelint.api import (
    Also,
    Context,
    Finding,
    Findings,
    Source,
    controller_settings,
    rule,
    terraform_blocks,
    terraform_trace,
)

_MOST = 400
"""The most Terraform files of a repository in which the callers of a module are known to be complete."""
_FOR_READERS = re.compile(r"(?i)(?:^|/)(?:examples?|tests?|modules|docs?)/")


@rule(
    on=Source,
    group="hazard",
    severity="info",
    subject="objects",
    mentions=controller_settings.MENTIONS,
    tags=["installation"],
    source="https://developer.hashicorp.com/terraform/language/modules",
)
def check(source: Source, context: Context) -> Findings:
    if source.built is not None or not source.path.endswith((".tf", ".tofu")):
        return
    folder = terraform_trace.folder_of(source.path)
    around = os.path.dirname(folder)
    if os.path.basename(around) != "modules":
        return
    for install in context.run_files.installs_in(source):
        block = controller_settings.helm_release_of(install, context.run_files.terraform)
        if block is None or block.source.path != source.path:
            continue
        files = context.run_files.terraform.files_near(source.path)
        outside = [file for file in files if terraform_trace.folder_of(file.path) != folder]
        is_named = any(f"{os.path.basename(around)}/{os.path.basename(folder)}" in file.text for file in outside)
        if is_named or len(files) >= _MOST or context.run_files.is_in_files("terragrunt", around=True):
            return
        calls = [
            (called, call)
            for file in outside
            for call in terraform_blocks.find_blocks(file)
            if (called := terraform_blocks.called_folder(call)) is not None
        ]
        roots = [(called, call) for called, call in calls if not _FOR_READERS.search(call.source.path)]
        neighbours = [call for called, call in roots if os.path.dirname(called) == around]
        if any(called == folder for called, _ in calls):
            return
        if neighbours:
            yield Finding(
                at=block.at,
                message="no root module calls this module: nothing installs Karpenter",
                also=[Also(neighbours[0].at, "calls a module of the same folder")],
                help="call the module, or remove it",
            )
        return
