"""The controller's role is for another service account than the chart creates, so the controller has no credentials.

A role reaches the controller by the namespace and the name of its service account. A Pod Identity association names
both, and so does the trust policy of IRSA (`system:serviceaccount:<namespace>:<name>`). If the chart is installed in
another namespace, AWS refuses each call, and no node launches. From version 21 on
`terraform-aws-modules/eks/aws//modules/karpenter` creates an association for `kube-system/karpenter`, unless
`namespace` is set. Its role trusts only Pod Identity, so the annotation `eks.amazonaws.com/role-arn` changes nothing.

The name must be that of `serviceAccount.name` in the chart's values, else that of the release.

The rule compares texts that are written out, also in a local or in an argument of a module. It reports nothing if
another association or trust policy may apply.

```yaml bad
# file: karpenter.tf
module "karpenter" {
  source       = "terraform-aws-modules/eks/aws//modules/karpenter"
  version      = "~> 21.9"
  cluster_name = "main"
}
resource "helm_release" "karpenter" {
  namespace        = "karpenter"
  create_namespace = true
  name             = "karpenter"
  repository       = "oci://public.ecr.aws/karpenter"
  chart            = "karpenter"
  version          = "1.14.1"
  values = [yamlencode({ settings = { clusterName = "main", interruptionQueue = module.karpenter.queue_name } })]
}
```

```yaml good diff=bad
   cluster_name = "main"
+  namespace    = "karpenter"
```
"""

import fnmatch
import os
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from nodelint.api import (
    Also,
    Context,
    Finding,
    Findings,
    Node,
    Source,
    Span,
    controller_settings,
    messages,
    rule,
    terraform_trace,
)

_MODULE = re.compile(r'(?m)^[ \t]*source\s*=\s*"[^"\n]*eks(?:/aws)?(?:\.git)?//modules/karpenter\b[^"\n]*"')
_MAJOR = re.compile(
    r'(?m)^[ \t]*+(?:version[ \t]*+=[ \t]*+"[ \t]*+(?:=|~>)?[ \t]*+|'
    r'source[ \t]*+=[ \t]*+"[^"\n?]{0,500}\?ref=)v?(\d{1,6}+)[.\d]{0,20}+"'
)
_TRUST = re.compile(r'"system:serviceaccount:([^":\n]+):([^":\n]+)"')
_PAIRS = re.compile(r"namespace_service_accounts\s*+=\s*+\[([^\][]{0,5000})\]")
_ASSOCIATION = re.compile(r"^(?:AWS::EKS::|aws:eks[:/](?:\w+:)?|aws-native:eks:)PodIdentityAssociation$", re.I)
_DEFAULT_MODULE = ("kube-system", "karpenter")
_OF_21 = 21


class _Grant:
    """A role that a service account gets: the place, the namespace and the name of the service account, and the
    address of the Terraform block.

    The namespace or the name is None if it is not known. The address is "" outside Terraform.
    """

    def __init__(self, at: Span, pair: tuple[str | None, str | None], address: str) -> None:
        self.at, self.address = at, address
        self.namespace, self.name = pair


@rule(
    on=Source,
    group="correctness",
    severity="warning",
    subject="security",
    mentions=[
        *("modules/karpenter", "aws_eks_pod_identity_association", "system:serviceaccount:", "service_accounts"),
        *("PodIdentityAssociation", "podIdentityAssociations", "serviceAccounts"),
    ],
    source=[
        "https://github.com/terraform-aws-modules/terraform-aws-eks/tree/master/modules/karpenter#inputs",
        "https://docs.aws.amazon.com/eks/latest/userguide/pod-id-association.html",
    ],
)
def check(source: Source, context: Context) -> Findings:
    if not context.run_files.installs:
        return
    blocks = context.run_files.terraform
    in_terraform = source.path.endswith(terraform_trace.ENDINGS)
    grants = _list_grants(blocks) if in_terraform else list(_find_trusts(source))
    own_folder = os.path.dirname(source.path)
    installs_beside = [i for i in context.run_files.installs if os.path.dirname(i.at.source.path) == own_folder]
    of_yaml = list(_find_in_yaml(source)) if not in_terraform else []
    grants += of_yaml
    if not in_terraform and not of_yaml:  # a script installs the chart for which it makes the role
        installs_beside = [i for i in installs_beside if i.at.source.path == source.path]
        if not installs_beside:
            return
    ours = [
        grant
        for grant in grants
        if "karpenter" in (grant.name or "karpenter")
        # A chart that is installed in the same folder has its role there.
        and (not installs_beside or os.path.dirname(grant.at.source.path) == own_folder)
    ]
    if not any(grant.at.source is source for grant in ours) or any(
        None in (grant.namespace, grant.name) for grant in ours
    ):
        return
    namespace = controller_settings.find_namespace(installs_beside or context.run_files.installs, blocks)
    if namespace is None:
        return
    if any(grant.namespace in (namespace, "*") for grant in ours):
        yield from _check_name(source, ours, grants, installs_beside or context.run_files.installs, blocks)
        return
    install = (installs_beside or list(context.run_files.installs))[0]
    grant = next(grant for grant in ours if grant.at.source is source)
    if _has_other_role(install, grant, blocks):
        return
    yield Finding(
        at=grant.at,
        message=_message(f"{grant.namespace}/{grant.name}", namespace),
        also=[Also(install.at, f"installed in `{namespace}`")] if isinstance(install.at.source, Source) else [],
        help=(
            f'set `namespace = "{namespace}"`'
            if grant.address
            else f"let the role trust `system:serviceaccount:{namespace}:{grant.name}`"
        )
        + f", or install the chart in `{grant.namespace}`",
    )


def _check_name(
    source: Source,
    ours: Sequence[_Grant],
    grants: Sequence[_Grant],
    installs: "Sequence[controller_settings.ControllerInstall]",
    blocks: "terraform_trace.TerraformBlocks",
) -> Findings:
    """Yield a finding if the chart's service account has another name than all that get a role."""
    account = _find_account(installs[0], blocks) if len(installs) == 1 else None
    grant = next((grant for grant in ours if grant.at.source is source), None)
    if account is None or grant is None or _has_other_role(installs[0], grant, blocks):
        return
    if any(found.name is None or fnmatch.fnmatchcase(account, found.name) for found in grants):
        return
    yield Finding(
        at=grant.at,
        message=messages.first_fitting(
            f"the service account `{grant.name}` has the role, but that of the chart is `{account}`: the controller "
            "has no credentials",
            f"the role is for `{messages.short(grant.name or '', 30)}`, but the chart's service account is"
            f" `{messages.short(account, 30)}`",
        ),
        also=[Also(installs[0].at, "installs the chart")] if isinstance(installs[0].at.source, Source) else [],
        help=f"give the role to `{account}`, or set `serviceAccount.name` of the chart to `{grant.name}`",
    )


def _find_account(
    install: "controller_settings.ControllerInstall", blocks: "terraform_trace.TerraformBlocks"
) -> str | None:
    """Return the name of the chart's service account. None if it is not known."""
    values = install.values
    if values is None or install.has_gaps or not install.is_complete:
        return None
    account = values.get("serviceAccount")
    name = account.get("name") if account is not None else None
    if name is not None:
        return name.value if isinstance(name.value, str) and name.value else None
    block = controller_settings.helm_release_of(install, blocks)
    own = [values.get("fullnameOverride"), values.get("nameOverride"), account.get("create") if account else None]
    written = terraform_trace.find_arguments(block.text, "name")[:1] if block is not None else []
    # The chart names the account as its release, if the name of the release holds that of the chart.
    release = re.fullmatch(r'"([\w-]*karpenter[\w-]*)"', written[0]) if written and not any(own) else None
    return release[1] if release is not None else None


def _message(account: str, namespace: str) -> str:
    return messages.first_fitting(
        f"service account `{account}` has the role, but the chart is in `{namespace}`: the controller has no"
        " credentials",
        f"the role is for `{messages.short(account, 30)}`, but the chart is in `{messages.short(namespace, 24)}`:"
        " the controller has no credentials",
    )


@lru_cache(maxsize=1)
def _list_grants(blocks: "terraform_trace.TerraformBlocks") -> list[_Grant]:
    return [grant for file in blocks.files for grant in _find_grants(file, blocks)]


def _find_grants(file: Source, blocks: "terraform_trace.TerraformBlocks") -> Iterator[_Grant]:
    """Yield each grant of a role to a service account of Karpenter in a Terraform file."""
    for block in blocks.find_in(file.path):
        if block.kind == "aws_eks_pod_identity_association":
            yield _Grant(block.at, _pair(block, blocks, (None, None)), block.address)
        elif block.address.startswith("module.") and _MODULE.search(block.text):
            yield from _of_module(block, blocks)
        for text in _PAIRS.findall(block.text):
            for pair in re.findall(r'"([^"\n]*)"', text) or [":"]:
                namespace, _, name = pair.partition(":")
                unknown = not name or "${" in pair
                yield _Grant(block.at, (None, None) if unknown else (namespace, name), block.address)
    yield from _find_trusts(file)


def _find_trusts(file: Source) -> Iterator[_Grant]:
    """Yield each grant of a role by a trust policy that names a service account of Karpenter, in Terraform or a
    script.
    """
    for match in _TRUST.finditer(file.text):
        line = file.text[file.text.rfind("\n", 0, match.start()) + 1 : match.start()].lstrip()
        if line.startswith(("#", "//")):
            continue
        known = "$" not in match[0]
        if known or "karpenter" in match[0]:
            at = Span(file, match.start() + 1, match.end() - 1)
            yield _Grant(at, (match[1], match[2]) if known else (None, None), "")


def _find_in_yaml(file: Source) -> Iterator[_Grant]:
    """Yield each grant of a role to a service account in an eksctl config, a CloudFormation template, or a Pulumi
    program.
    """
    for document in file.documents:
        for node in document.root.walk() if document.root is not None else ():
            kind = node.get("Type") or node.get("type")
            if kind is not None and _ASSOCIATION.search(str(kind.value)):
                given = node.get("Properties") or node.get("properties")
                yield from _of_nodes(given, ("Namespace", "namespace"), ("ServiceAccount", "serviceAccount"))
        iam = document.root.get("iam") if document.root is not None else None
        for key, name in (("podIdentityAssociations", "serviceAccountName"), ("serviceAccounts", "name")):
            listed = iam.get(key) if iam is not None else None
            for item in listed.items if listed is not None else ():
                yield from _of_nodes(item.get("metadata") or item, ("namespace",), (name,))


def _of_nodes(given: Node | None, *keys: tuple[str, ...]) -> Iterator[_Grant]:
    """Yield the grant of a mapping, read from the given keys of its namespace and its name.

    Nothing if there is no mapping.
    """
    if given is None:
        return
    nodes = [next((node for key in names if (node := given.get(key)) is not None), None) for names in keys]
    texts = [node.value if node is not None and isinstance(node.value, str) else None for node in nodes]
    at = nodes[0] or given
    yield _Grant(Span(at.source, at.start, at.end), (texts[0], texts[1]), "")


def _of_module(block: "terraform_trace.BlockText", blocks: "terraform_trace.TerraformBlocks") -> Iterator[_Grant]:
    """Yield the grant of a call of the Karpenter module.

    The namespace and the name are None if they depend on an unknown version.
    """
    major = _MAJOR.search(block.text)
    if re.search(r"(?m)^[ \t]*(?:create|create_iam_role|create_pod_identity_association)\s*=\s*false", block.text):
        return
    if major is None or re.search(r"(?m)^[ \t]*(?:create\w*|enable_\w*irsa\w*)\s*+=\s*+(?!true|false)", block.text):
        yield _Grant(block.at, (None, None), block.address)
    elif int(major[1]) >= _OF_21 or re.search(r"\bcreate_pod_identity_association\s*=\s*true", block.text):
        yield _Grant(block.at, _pair(block, blocks, _DEFAULT_MODULE), block.address)
    elif not _PAIRS.search(block.text):
        yield _Grant(block.at, (None, None), block.address)


def _pair(
    block: "terraform_trace.BlockText",
    blocks: "terraform_trace.TerraformBlocks",
    defaults: tuple[str | None, str | None],
) -> tuple[str | None, str | None]:
    """Return the namespace and the service account that a block names.

    A missing argument has its default; an unknown one is None.
    """
    found = []
    for argument, default in zip(("namespace", "service_account"), defaults, strict=True):
        written = terraform_trace.find_arguments(block.text, argument)
        found.append(blocks.literal(written[0], block.source.path) if written else default)
    return found[0], found[1]


def _has_other_role(
    install: "controller_settings.ControllerInstall", grant: _Grant, blocks: "terraform_trace.TerraformBlocks"
) -> bool:
    """Return whether the chart annotates its service account with another role than that of the grant."""
    block = controller_settings.helm_release_of(install, blocks)
    if block is not None:
        line = re.search(r"role-arn[^\n]*\n?[^\n]*", block.text)
        own = re.compile(rf"\b{re.escape(grant.address)}(?:\[[^\][\n]*\])?\.")
        return line is not None and bool(grant.address) and own.search(line[0]) is None
    notes = install.values.find("serviceAccount", "annotations") if install.values is not None else None
    return notes is not None and bool(grant.address)
