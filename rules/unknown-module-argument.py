"""A Terraform module is called with an argument that its version does not have.

Terraform refuses the configuration: "An argument named ... is not expected here". The arguments of
`terraform-aws-modules/eks/aws` and of its module for Karpenter were renamed in version 20 and again in version 21.
Without `version`, a new `terraform init` takes the newest version. The rule knows the arguments of the modules for
EKS, VPCs, IAM roles and EKS Blueprints add-ons by version, and those of the modules in the repository. It looks at
all files of the root modules that install Karpenter or create its objects, also at those that do not name it.

The rule reports nothing if the version is not known, or if a newer version than nodelint knows may have the
argument.

There is no fix: an argument with another name may take another value.

```yaml bad
# file: main.tf
module "karpenter" {
  source            = "terraform-aws-modules/eks/aws//modules/karpenter"
  version           = "~> 20.0"
  cluster_name      = "main"
  enable_irsa       = true
  oidc_provider_arn = "arn:aws:iam::111122223333:oidc-provider/oidc.eks.eu-west-1.amazonaws.com/id/EXAMPLE"
}
```

```yaml good
# file: main.tf
module "karpenter" {
  source                 = "terraform-aws-modules/eks/aws//modules/karpenter"
  version                = "~> 20.0"
  cluster_name           = "main"
  enable_irsa            = true
  irsa_oidc_provider_arn = "arn:aws:iam::111122223333:oidc-provider/oidc.eks.eu-west-1.amazonaws.com/id/EXAMPLE"
}
```
"""

from collections.abc import Sequence

from nodelint.api import Also, Context, Finding, Findings, Source, Span, module_folder, rule

_MOST = 10
"""The most arguments of one call that a finding lists."""


@rule(
    on=Source,
    group="correctness",
    subject="templates",
    source=[
        "https://github.com/terraform-aws-modules/terraform-aws-eks/blob/master/docs/UPGRADE-20.0.md",
        "https://github.com/terraform-aws-modules/terraform-aws-eks/blob/master/docs/UPGRADE-21.0.md",
        "https://developer.hashicorp.com/terraform/language/block/module",
    ],
    mentions=["module"],
    tags=["root-module"],
)
def check(source: Source, context: Context) -> Findings:
    if source.built is not None or not source.path.endswith(module_folder.ENDS):
        return
    folder = context.run_files.terraform.references_of(source.path)
    if folder is None:
        return
    for call in folder.list_calls(source.path):
        if call.is_missing:
            yield Finding(
                at=Span(source, *call.source_at),
                message=f"{call.name} does not exist: `terraform init` fails",
                note=call.explain_missing(),
                help="set `version` to an older one, or use the module that took its place",
            )
            continue
        unknown = list(call.find_unknown_arguments())
        for argument in unknown[:1]:
            other = call.other_argument(argument.name)
            yield Finding(
                at=Span(source, argument.start, argument.end),
                message=f"{call.name} has no argument `{argument.name}`{_count_more(unknown)}: Terraform refuses the "
                "plan",
                also=[_describe(source, call, another) for another in unknown[1:_MOST]],
                note=call.explain_argument(argument.name),
                help=f"write `{other}`" if other is not None else _suggest(call, argument.name),
            )
        missing = call.find_missing_arguments()
        if missing:
            names = ", ".join(f"`{name}`" for name in missing)
            yield Finding(
                at=Span(source, *call.source_at),
                message=f"{call.name} needs {names}, which the call does not set: Terraform refuses the plan",
                help="set the arguments, or give the variables a default",
            )


def _suggest(call: module_folder.ModuleCall, name: str) -> str:
    version = call.suggest_version(name)
    if version is not None:
        return f'remove the argument, or set `version = "{version}"`'
    return "remove the argument, or correct its name"


def _count_more(unknown: Sequence[module_folder.ModuleArgument]) -> str:
    return f" (and {len(unknown) - 1} more)" if unknown[1:] else ""


def _describe(source: Source, call: module_folder.ModuleCall, argument: module_folder.ModuleArgument) -> Also:
    other = call.other_argument(argument.name)
    name = f"it is called `{other}`" if other is not None else f"it has no `{argument.name}`"
    return Also(Span(source, argument.start, argument.end), name)
