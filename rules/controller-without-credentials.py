"""No way leads from the controller's service account to its IAM role, so AWS refuses every call of the controller.

A pod gets a role in one of two ways. With IRSA, the service account has the annotation `eks.amazonaws.com/role-arn`,
and the role trusts the cluster's OIDC provider. With EKS Pod Identity, an association names the service account, and
the add-on `eks-pod-identity-agent` runs on the node of the pod.

Version 20 of `terraform-aws-modules/eks/aws//modules/karpenter` does neither by default: its role trusts only Pod
Identity (`enable_irsa` is false), and it creates no association (`create_pod_identity_association` is false). The
annotation alone changes nothing. Version 21 has no IRSA, and creates the association. EKS installs the agent only if
the add-on is listed, except in EKS Auto Mode. On Fargate the agent does not run.

With IRSA, the chart's values need the annotation `eks.amazonaws.com/role-arn`: a role that trusts the service account
does not reach it by itself. The controller then uses the role of its node, which has none of the permissions.

The role of the annotation has to trust the service account. AWS gives a role that trusts only EC2 to no pod.

If one root module creates the cluster and installs the chart, the files have an EC2NodeClass, and no file has a role
for the controller, the rule reports the chart.

The rule reports nothing if a file may create the association, set the annotation or install the agent in another way.

There is no fix: the author chooses between IRSA and Pod Identity.

```yaml bad
# file: karpenter.tf
module "karpenter" {
  source       = "terraform-aws-modules/eks/aws//modules/karpenter"
  version      = "~> 20.31"
  cluster_name = "main"
  enable_v1_permissions = true
}
resource "helm_release" "karpenter" {
  namespace  = "kube-system"
  name       = "karpenter"
  repository = "oci://public.ecr.aws/karpenter"
  chart      = "karpenter"
  version    = "1.6.8"
  values = [yamlencode({
    serviceAccount = { annotations = { "eks.amazonaws.com/role-arn" = module.karpenter.iam_role_arn } }
    settings       = { clusterName = "main", interruptionQueue = module.karpenter.queue_name }
  })]
}
```

```yaml good
# file: karpenter.tf
module "karpenter" {
  source                          = "terraform-aws-modules/eks/aws//modules/karpenter"
  version                         = "~> 20.31"
  cluster_name                    = "main"
  create_pod_identity_association = true
  enable_v1_permissions           = true
}
resource "helm_release" "karpenter" {
  namespace  = "kube-system"
  name       = "karpenter"
  repository = "oci://public.ecr.aws/karpenter"
  chart      = "karpenter"
  version    = "1.6.8"
  values     = [yamlencode({ settings = { clusterName = "main", interruptionQueue = module.karpenter.queue_name } })]
}
```

```yaml bad
# file: main.tf
module "eks" {
  source  = "terraform-aws-modules/eks/aws"
  version = "~> 21.9"
  name    = "main"
  addons  = { coredns = {}, kube-proxy = {}, vpc-cni = { before_compute = true } }
}
module "karpenter" {
  source       = "terraform-aws-modules/eks/aws//modules/karpenter"
  version      = "~> 21.19"
  cluster_name = module.eks.cluster_name
}
resource "helm_release" "karpenter" {
  namespace  = "kube-system"
  name       = "karpenter"
  repository = "oci://public.ecr.aws/karpenter"
  chart      = "karpenter"
  version    = "1.14.1"
  values     = [yamlencode({ settings = { clusterName = "main", interruptionQueue = module.karpenter.queue_name } })]
}
```

```yaml good diff=bad
-  addons  = { coredns = {}, kube-proxy = {}, vpc-cni = { before_compute = true } }
+  addons  = { coredns = {}, kube-proxy = {}, vpc-cni = { before_compute = true }, eks-pod-identity-agent = {} }
```

```yaml bad
# file: main.tf
module "karpenter" {
  source                 = "terraform-aws-modules/eks/aws//modules/karpenter"
  version                = "~> 20.31"
  cluster_name           = "main"
  enable_v1_permissions  = true
  enable_irsa            = true
  irsa_oidc_provider_arn = "arn:aws:iam::111122223333:oidc-provider/oidc.eks.eu-west-1.amazonaws.com/id/EXAMPLE"
}
resource "helm_release" "karpenter" {
  namespace  = "kube-system"
  name       = "karpenter"
  repository = "oci://public.ecr.aws/karpenter"
  chart      = "karpenter"
  version    = "1.6.8"
  values     = [yamlencode({ settings = { clusterName = "main", interruptionQueue = module.karpenter.queue_name } })]
}
```

```yaml good
# file: main.tf
module "karpenter" {
  source                 = "terraform-aws-modules/eks/aws//modules/karpenter"
  version                = "~> 20.31"
  cluster_name           = "main"
  enable_v1_permissions  = true
  enable_irsa            = true
  irsa_oidc_provider_arn = "arn:aws:iam::111122223333:oidc-provider/oidc.eks.eu-west-1.amazonaws.com/id/EXAMPLE"
}
resource "helm_release" "karpenter" {
  namespace  = "kube-system"
  name       = "karpenter"
  repository = "oci://public.ecr.aws/karpenter"
  chart      = "karpenter"
  version    = "1.6.8"
  values = [yamlencode({
    serviceAccount = { annotations = { "eks.amazonaws.com/role-arn" = module.karpenter.iam_role_arn } }
    settings       = { clusterName = "main", interruptionQueue = module.karpenter.queue_name }
  })]
}
```
"""

import re

from nodelint.api import (
    Also,
    Context,
    EC2NodeClass,
    Finding,
    Findings,
    Source,
    controller_settings,
    karpenter_calls,
    messages,
    node_roles,
    rule,
    terraform_blocks,
    terraform_trace,
)

_ASSOCIATES = re.compile(
    r"aws_eks_pod_identity_association\b|PodIdentityAssociation\b|pod-identity-association|podIdentityAssociations"
    r"|eks-pod-identity/aws|terraform-aws-eks-pod-identity|pod_identity_associations?\s*=\s*[\[{]"
)
_AGENT = re.compile(r"(?i)pod[-_]identity[-_]agent|podIdentityAgent")
_AUTO_MODE = re.compile(r"(?i)\b(?:cluster_)?compute_config\b|auto[-_]?mode")
_ADDONS = re.compile(r"(?m)^[ \t]*(?:cluster_)?addons[ \t]*=")
_PROFILES = re.compile(r"(?m)^[ \t]*fargate_profiles[ \t]*=")
_SELECTED = re.compile(r'\bnamespace\s*=\s*"([^"\n]*)"')
_ANY_ANNOTATION = re.compile(r"role-arn|iamserviceaccount|addServiceAccount|karpenter_irsa_role")
_KEYS = re.compile(r"AWS_ACCESS_KEY_ID|AWS_ROLE_ARN|AWS_WEB_IDENTITY")
_ACCOUNT = re.compile(r'system:serviceaccount:[^"\n]{0,200}karpenter')
_OF_IRSA = re.compile(r"\battach_karpenter_controller_policy[ \t]*=[ \t]*true")
_KARPENTER = re.compile(r'(?m)^[ \t]*chart[ \t]*=[ \t]*"(?:[^"\n]*/)?karpenter"')
_GIVEN_ROLE = re.compile(
    r"role-arn[\"']?\s*+(?:value\s*+=|[=:])\s*+[\"']?(?:\$\{\s*+)?((?:aws_iam_role|module|local|var)\.[\w.\[\]-]+)"
)
_OTHER_TRUST = re.compile(
    r"(?i)Federated|WebIdentity|pods\.eks|\b(?:var|local|module)\.|(?:source|override)_|dynamic"
)
"""A text of a trust that may also name a service account."""
_ANNOTATION = "eks.amazonaws.com/role-arn"
_ANY_POLICY = re.compile(
    r"(?i)ec2:(?:CreateFleet|RunInstances|\*)|(?:Administrator|PowerUser|EC2Full)Access|\bactions?\b\W{1,9}\*"
    r"|\b(?:create|attach|put)-role|AWS::IAM::|irsa|ServiceAccount\("
    r"|additional_policies\s{0,30}+=\s{0,30}+(?:var|local|each|merge)\b"
)
"""What a file contains that may give the controller, or the node on which it runs, its permissions."""
_POLICY_OF_FILE = re.compile(r"\b(?:templatefile|file|jsondecode)\(|\bdata\.http\.")
_WITHOUT_ROLES = re.compile(
    r'(?m)^[ \t]*source[ \t]*=[ \t]*"(?:\./|\.\./|(?:registry\.terraform\.io/)?terraform-aws-modules/'
    r"(?:vpc|eks|kms|ecr|rds|s3-bucket|security-group)/aws)"
)
"""The call of a module of the repository, or of one that creates no role for the controller by default."""


@rule(
    on=Source,
    group="correctness",
    severity="warning",
    subject="security",
    mentions=[
        *("modules/karpenter", "aws_eks_pod_identity_association", "system:serviceaccount:"),
        *("AssumeRoleWithWebIdentity", "attach_karpenter_controller_policy", "role-arn"),
        *controller_settings.MENTIONS,
    ],
    source=[
        "https://github.com/terraform-aws-modules/terraform-aws-eks/blob/v20.37.2/modules/karpenter/main.tf",
        "https://docs.aws.amazon.com/eks/latest/userguide/pod-identities.html",
        "https://docs.aws.amazon.com/eks/latest/userguide/pod-id-agent-setup.html",
    ],
)
def check(source: Source, context: Context) -> Findings:
    if not source.path.endswith(terraform_trace.ENDINGS) or not context.run_files.installs:
        return
    yield from _without_any_role(source, context)
    blocks = context.run_files.terraform
    is_associated = False
    for call in karpenter_calls.list_karpenter_calls(blocks):
        if call.block.source is not source or call.trusts_web_identity is not False:
            continue
        if call.makes_association is False:
            yield from _without_association(call, context)
        elif call.makes_association and not is_associated:
            is_associated = True
            yield from _without_agent(call.block, context)
    for block in blocks.find_in(source.path) if not is_associated else ():
        if block.kind == "aws_eks_pod_identity_association" and _is_of_karpenter(block):
            yield from _without_agent(block, context)
    yield from _without_annotation(source, context)
    yield from _without_trust(source, context)


def _without_any_role(source: Source, context: Context) -> Findings:
    """Yield a finding for the chart in a file, if its root module creates the cluster, and no file has a role for it.

    A chart that another tool installs does not count: commands in a readme may create its role.
    """
    blocks, files = context.run_files.terraform, context.run_files
    installs = [install for install in files.installs_in(source) if install.at.source.path == source.path]
    clusters = node_roles.list_clusters(blocks)
    if not installs or len(clusters) != 1 or len(files.installs) != 1 or not _gives_no_role(installs[0]):
        return
    root = blocks.list_beside_in_root(source.path)
    if clusters[0] not in root:
        return
    if not files.objects_near(source, EC2NodeClass) or any(
        block.kind.startswith("aws_iam_") and _POLICY_OF_FILE.search(block.text) for block in root
    ):
        return
    calls = [block for block in root if block.address.startswith("module.")]
    if not all(_WITHOUT_ROLES.search(call.text) for call in calls) or karpenter_calls.list_karpenter_calls(blocks):
        return
    ways = (_ASSOCIATES, _ANY_ANNOTATION, _KEYS, _ACCOUNT, _ANY_POLICY)
    if any(files.is_in_files(way, around=True) or any(way.search(f.text) for f in blocks.files) for way in ways):
        return
    at = controller_settings.place_in(source, context.files, installs[0])
    if at is not None:
        yield Finding(
            at=at,
            message="Terraform installs the controller and gives it no role: AWS refuses each call",
            also=[Also(clusters[0].at, "creates the cluster")],
            help="create a role with the controller's permissions, and associate it by EKS Pod Identity or IRSA",
        )


def _without_trust(source: Source, context: Context) -> Findings:
    """Yield a finding for the annotation of the chart in a file, if its role trusts instances of EC2 only."""
    blocks = context.run_files.terraform
    for release in blocks.find_in(source.path):
        given = _GIVEN_ROLE.search(release.text) if release.kind == "helm_release" else None
        if given is None or _KARPENTER.search(release.text) is None:
            continue
        found = blocks.trace(given[1], source.path)
        role = blocks.find(found) if found is not None else None
        trust = "\n".join(_list_trusts(role, blocks)) if role is not None and role.kind == "aws_iam_role" else ""
        if role is not None and "ec2.amazonaws.com" in trust and _OTHER_TRUST.search(trust) is None:
            yield Finding(
                at=release.at,
                message=f"`{messages.short(role.address, 50)}` trusts EC2, not the controller's service account: AWS"
                " refuses each call",
                also=[Also(role.at, "the role of the annotation `role-arn`")],
                help="let the role trust the OIDC provider of the cluster (`sts:AssumeRoleWithWebIdentity`)",
            )


def _list_trusts(role: "terraform_trace.BlockText", blocks: "terraform_trace.TerraformBlocks") -> list[str]:
    """Return the text of a role's trust, and of the policy documents to which it refers."""
    texts = [terraform_blocks.own_arguments(role.text).get("assume_role_policy", "")]
    for name in re.findall(r"\bdata\.aws_iam_policy_document\.[\w-]+", texts[0]):
        at = terraform_trace.BlockReference(name, (), terraform_trace.folder_of(role.source.path))
        document = blocks.find(at)
        texts += [document.text] if document is not None else []
    return texts


def _without_annotation(source: Source, context: Context) -> Findings:
    """Yield a finding for a role that trusts the controller's service account, if nothing annotates the account."""
    role = next(
        (block for block in context.run_files.terraform.find_in(source.path) if _trusts(block, context)), None
    )
    if role is None or not all(_gives_no_role(install) for install in context.run_files.installs):
        return
    blocks, files = context.run_files.terraform, context.run_files
    if any(call.makes_association is not False for call in karpenter_calls.list_karpenter_calls(blocks)):
        return
    if any(files.is_in_files(pattern, around=True) for pattern in (_ASSOCIATES, _ANY_ANNOTATION, _KEYS)):
        return
    if any(_ASSOCIATES.search(file.text) or _ANY_ANNOTATION.search(file.text) for file in blocks.files):
        return
    yield Finding(
        at=role.at,
        message="no annotation gives the controller's service account this role: AWS refuses each call",
        also=[
            Also(install.at, "the chart has no annotation")
            for install in files.installs[:1]
            if isinstance(install.at.source, Source)
        ],
        help=f"set `serviceAccount.annotations.{_ANNOTATION}` of the chart to the ARN of the role",
    )


def _trusts(block: "terraform_trace.BlockText", context: Context) -> bool:
    """Return whether a block creates a role that trusts Karpenter's service account by the OIDC provider."""
    blocks = context.run_files.terraform
    if block.kind == "aws_iam_role":
        texts = _list_trusts(block, blocks)
        return any("AssumeRoleWithWebIdentity" in text and _ACCOUNT.search(text) for text in texts)
    call = next((call for call in karpenter_calls.list_karpenter_calls(blocks) if call.block == block), None)
    if call is not None:
        return not call.is_addons and call.trusts_web_identity is True and call.flag("create_iam_role", True) is True
    return block.address.startswith("module.") and _OF_IRSA.search(block.text) is not None


def _gives_no_role(install: "controller_settings.ControllerInstall") -> bool:
    """Return whether all values of a chart are known, and none of them gives the controller credentials."""
    values = install.values
    if values is None or not install.is_complete or install.has_gaps:
        return False
    account, env = values.get("serviceAccount"), values.find("controller", "env")
    is_made = account is None or (account.get("annotations") is None and account.get("create") is None)
    return (
        is_made and env is None and not any(setting.name.startswith("serviceAccount") for setting in install.settings)
    )


def _without_association(call: "karpenter_calls.KarpenterCall", context: Context) -> Findings:
    """Yield a finding for a module call whose role trusts only Pod Identity, if nothing may create an association."""
    blocks = context.run_files.terraform
    address = re.escape(call.block.address)
    taken = re.compile(rf"\b{address}(?:\[[^\][\n]*\])?\.iam_policy")
    if context.run_files.is_in_files(_ASSOCIATES, around=True) or "iam_role_policies" in call.given:
        return
    if any(_ASSOCIATES.search(file.text) or taken.search(file.text) for file in blocks.files):
        return
    annotated = context.run_files.files_with(_ANNOTATION, around=True)
    yield Finding(
        at=call.block.at,
        message="the controller's role trusts only Pod Identity, and nothing associates it: AWS refuses each call",
        severity="error" if annotated else None,
        note="the annotation `eks.amazonaws.com/role-arn` needs `enable_irsa = true`" if annotated else None,
        help="set `create_pod_identity_association = true`, with the chart's `namespace`"
        if call.allows_majors(21)
        else "set `create_pod_identity_association = true`, with the chart's `namespace`, or `enable_irsa = true`"
        " with `irsa_oidc_provider_arn`",
    )


def _without_agent(block: "terraform_trace.BlockText", context: Context) -> Findings:
    """Yield a finding for a role that the controller gets only by Pod Identity, if the agent does not run."""
    blocks = context.run_files.terraform
    clusters = node_roles.list_clusters(blocks)
    if len(clusters) != 1:
        return
    cluster = clusters[0]
    namespace = _find_fargate_namespace(context)
    if namespace:
        yield Finding(
            at=block.at,
            message=f"the controller runs on Fargate (namespace `{namespace}`), where Pod Identity gives it no role",
            also=[Also(cluster.at, "the controller runs in this cluster")],
            help="let the role trust the cluster's OIDC provider (IRSA), or run the controller on a node group",
        )
        return
    if context.run_files.is_in_files(_AGENT, around=True) or _is_annotated(context):
        return
    if any(_AGENT.search(file.text) or _AUTO_MODE.search(file.text) for file in blocks.files):
        return
    is_listed = _ADDONS.search(cluster.text) or any(other.kind == "aws_eks_addon" for other in blocks.blocks)
    if is_listed:
        yield Finding(
            at=block.at,
            message="no add-on `eks-pod-identity-agent` is installed: Pod Identity gives the controller no role",
            also=[Also(cluster.at, "the controller runs in this cluster")],
            help="add `eks-pod-identity-agent` to the add-ons of the cluster",
        )


def _is_of_karpenter(block: "terraform_trace.BlockText") -> bool:
    written = terraform_trace.find_arguments(block.text, "service_account")
    return bool(written) and "karpenter" in f"{block.address} {written[0]}".lower()


def _is_annotated(context: Context) -> bool:
    """Return whether a file may give the service account a role by IRSA."""
    return any("karpenter" in file.text for file in context.run_files.files_with(_ANNOTATION, around=True))


def _find_fargate_namespace(context: Context) -> str | None:
    """Return the chart's namespace if a Fargate profile selects all of its pods; None if none is known to."""
    blocks = context.run_files.terraform
    namespace = controller_settings.find_namespace(context.run_files.installs, blocks)
    for block in blocks.blocks:
        begun = _PROFILES.search(block.text)
        text = block.text if block.kind == "aws_eks_fargate_profile" else block.text[begun.end() :] if begun else ""
        if namespace in _SELECTED.findall(text) and "labels" not in text:
            return namespace
    return None
