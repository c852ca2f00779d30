"""A Terraform file refers to a module, resource, local or variable that no file of its folder declares.

Terraform reads all files of a folder together and refuses the configuration if a name is not declared. The first plan
fails, so neither Karpenter's chart nor its roles are created. Most such names are slips: the module is
called `eks`, and a value of the chart asks `module.eks_cluster`. The rule also reports outputs that a module of the
repository, or the version of a public module, does not have, and names in a template that the call of `templatefile`
does not pass.

The rule reports nothing if files may be missing: Terragrunt or another tool writes files into the folder, git ignores
Terraform files, or many names are not declared, as in an excerpt for readers.

There is no fix: only the author knows which name is meant.

```yaml bad
# file: main.tf
provider "helm" {
}
module "eks" {
  source             = "terraform-aws-modules/eks/aws"
  version            = "21.19.0"
  name               = "main"
  kubernetes_version = "1.35"
}
resource "helm_release" "karpenter" {
  name       = "karpenter"
  repository = "oci://public.ecr.aws/karpenter"
  chart      = "karpenter"
  version    = "1.14.3"
  values     = [yamlencode({ settings = { clusterName = module.cluster.cluster_name, interruptionQueue = "main" } })]
}
output "endpoint" {
  value = module.eks.cluster_endpoint
}
```

```yaml good diff=bad
-  values     = [yamlencode({ settings = { clusterName = module.cluster.cluster_name, interruptionQueue = "main" } })]
+  values     = [yamlencode({ settings = { clusterName = module.eks.cluster_name, interruptionQueue = "main" } })]
```

Terraform also refuses a template with a name that its call does not pass. A name that is passed and not used is
allowed.

```yaml bad
# file: main.tf
resource "kubectl_manifest" "pool" {
  yaml_body = templatefile("${path.module}/pool.yaml.tftpl", { name = "web" })
}
# file: pool.yaml.tftpl
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: ${name}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      expireAfter: 720h
      requirements:
        - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}
        - {key: kubernetes.io/arch, operator: In, values: ["${arch}"]}
```

```yaml good diff=bad
-  yaml_body = templatefile("${path.module}/pool.yaml.tftpl", { name = "web" })
+  yaml_body = templatefile("${path.module}/pool.yaml.tftpl", { name = "web", arch = "amd64" })
```
"""

from nodelint.api import Also, Context, Finding, Findings, Source, Span, module_folder, rule

_MOST = 3
"""The most undeclared names that are reported. A folder with more is an excerpt, or a tool adds files."""


@rule(
    on=Source,
    group="correctness",
    subject="templates",
    source=[
        "https://developer.hashicorp.com/terraform/language/expressions/references",
        "https://developer.hashicorp.com/terraform/language/files",
    ],
    mentions=['resource "', 'module "', "templatefile(", "${"],
)
def check(source: Source, context: Context) -> Findings:
    if source.built is not None:
        return
    if not source.path.endswith(module_folder.ENDS):
        yield from _check_template(source, context)
        return
    folder = context.run_files.terraform.references_of(source.path)
    if folder is None:
        return
    missing = folder.find_undeclared()
    if len({found.address for _, found in missing}) <= _MOST:
        first: dict[str, Finding] = {}
        for file, found in missing:
            if file.source is source and found.address not in first:
                near = folder.near_name(found.address)
                first[found.address] = Finding(
                    at=Span(source, found.start, found.end),
                    message=f"no file of this folder declares `{found.address}`: Terraform refuses the plan",
                    help=f"did you mean `{near}`?"
                    if near is not None
                    else "declare the address, or correct its name",
                    also=[
                        Also(Span(other.source, again.start, again.end), "names it as well")
                        for other, again in missing
                        if again.address == found.address and again is not found
                    ][:3],
                )
        yield from first.values()
    for found, module in folder.find_missing_outputs(source.path):
        other = module.other_output(found.attribute)
        yield Finding(
            at=Span(source, found.start, found.end),
            message=f"{module.name} has no output `{found.attribute}`: Terraform refuses the plan",
            note=module.explain_output(found.attribute),
            help=f"write `{found.address}.{other}`" if other is not None else "use an output that the module has",
        )
    for name in folder.find_missing_template_names(source.path):
        also = [Also(use, "used here") for use in name.uses[:3]]
        yield Finding(at=name.call, message=name.message, help=name.help, also=also)
    for block, before in folder.find_repeated(source.path):
        yield Finding(
            at=block,
            message="another block has this type and name: Terraform refuses the configuration",
            also=[Also(before, "this block has the same type and name")],
            help="rename or remove one of the blocks",
        )


def _check_template(source: Source, context: Context) -> Findings:
    """Yield the findings of a template whose call is in a file that the run does not judge."""
    judged = {file.path for file in context.run_files.files_of_run}
    for caller, folder in context.run_files.terraform.callers_of(source.path):
        for name in folder.find_missing_template_names(caller) if caller not in judged else ():
            if name.uses[0].source.path == source.path:
                at = Span(source, name.uses[0].start, name.uses[0].end)
                yield Finding(
                    at=at, message=name.message, help=name.help, also=[Also(name.call, "the call that lacks it")]
                )
