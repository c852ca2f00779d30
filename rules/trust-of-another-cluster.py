"""The controller's role trusts the OIDC provider of another cluster, so AWS refuses every call of the controller.

Each cluster has its own OIDC provider, and signs the tokens of its service accounts. A role for a service account
(IRSA) names the provider twice: as its principal, and in the keys of its condition. If the two are not the same, no
token meets the condition. If both are of another cluster than the one in `settings.clusterName`, no token of the
controller's cluster is accepted.

The rule compares ids of providers that are written out. In Terraform, it follows references to the modules and
resources that create the clusters. It reports nothing if one of the clusters is not known.

There is no fix: only the author knows which cluster was meant.

```yaml bad
# file: trust.json
{
  "Statement": [{
    "Effect": "Allow",
    "Action": "sts:AssumeRoleWithWebIdentity",
    "Principal": {
      "Federated":
        "arn:aws:iam::111122223333:oidc-provider/oidc.eks.eu-west-1.amazonaws.com/id/0A1B2C3D4E5F60718293A4B5C6D7E8F9"
    },
    "Condition": {
      "StringEquals": {
        "oidc.eks.eu-west-1.amazonaws.com/id/F9E8D7C6B5A49382716F5E4D3C2B1A00:sub":
          "system:serviceaccount:kube-system:karpenter"
      }
    }
  }]
}
```

```yaml good
# file: trust.json
{
  "Statement": [{
    "Effect": "Allow",
    "Action": "sts:AssumeRoleWithWebIdentity",
    "Principal": {
      "Federated":
        "arn:aws:iam::111122223333:oidc-provider/oidc.eks.eu-west-1.amazonaws.com/id/0A1B2C3D4E5F60718293A4B5C6D7E8F9"
    },
    "Condition": {
      "StringEquals": {
        "oidc.eks.eu-west-1.amazonaws.com/id/0A1B2C3D4E5F60718293A4B5C6D7E8F9:sub":
          "system:serviceaccount:kube-system:karpenter"
      }
    }
  }]
}
```
"""

import re

from nodelint.api import (
    Also,
    Context,
    Finding,
    Findings,
    Source,
    Span,
    karpenter_calls,
    rule,
    terraform_blocks,
    terraform_trace,
)

_ID = r"oidc\.eks\.[\w.-]{1,60}/id/(?P<id>[0-9A-F]{32})\b"
_PROVIDER = re.compile(rf"oidc-provider/{_ID}")
_KEY = re.compile(rf'(?<![\w/.-]){_ID}:(?:sub|aud)["\']?\s{{0,20}}[:=]')
_NEAR = 2_000
"""The most characters between the principal and the condition of a statement."""
_EXPRESSION = r"[\w-]{1,100}(?:\.[\w-]{1,100}|\[[^\][\n]{0,60}\]){1,6}"
_FEDERATED = re.compile(
    rf'(?:\bFederated"?\s{{0,20}}[=:]\s{{0,20}}|\bidentifiers\s{{0,20}}=\s{{0,20}}\[\s{{0,20}})({_EXPRESSION})'
)
_KEYS = re.compile(rf'"\$\{{(?:replace\()?({_EXPRESSION})(?:,[^{{}}\n]{{0,60}})?\}}:(?:sub|aud)"')
_VALUE = re.compile(rf'["\']?\s{{0,20}}[=:,]?\s{{0,20}}(?:value\s{{0,20}}=\s{{0,20}})?({_EXPRESSION})')
_HCL = (".tf", ".tofu")
_ACCOUNT = re.compile(r'system:serviceaccount:[^"\n]{0,200}karpenter')


@rule(
    on=Source,
    group="correctness",
    subject="security",
    mentions=["oidc-provider/", "oidc_provider"],
    source=[
        "https://docs.aws.amazon.com/eks/latest/userguide/associate-service-account-role.html",
        "https://docs.aws.amazon.com/IAM/latest/UserGuide/id_roles_providers_create_oidc_verify-thumbprint.html",
    ],
)
def check(source: Source, context: Context) -> Findings:
    if source.built is not None:
        return
    yield from _of_written_ids(source)
    if not source.path.endswith(terraform_trace.ENDINGS):
        return
    blocks = context.run_files.terraform
    own = _find_cluster_of_chart(source, context)
    for block in blocks.find_in(source.path):
        trusted, named = (_list_addresses(block, texts, blocks) for texts in _list_expressions(block))
        if len(trusted) > 1 or not (trusted or named):
            continue  # a role for several clusters
        clusters = {**trusted, **named}
        if len(clusters) == 1 and own is not None and own.address not in clusters:
            clusters[own.address] = own
        elif len(clusters) != 2 or len(named) != 1:
            continue
        first, second = clusters.values()
        yield Finding(
            at=block.at,
            message=f"the role trusts the OIDC provider of `{first.address}`, and the controller is in"
            f" `{second.address}`"
            if second is own
            else f"the role names the OIDC providers of two clusters: `{first.address}` and `{second.address}`",
            note="AWS accepts no token of the controller: it refuses each call",
            also=[Also(cluster.at, "creates a cluster") for cluster in (first, second)],
            help="use the OIDC provider of the cluster in which the controller runs",
        )


def _of_written_ids(source: Source) -> Findings:
    """Yield a finding for each condition about another provider than the principal of its statement."""
    for principal in _PROVIDER.finditer(source.text):
        end = _PROVIDER.search(source.text, principal.end())
        limit = min(principal.end() + _NEAR, end.start() if end is not None else len(source.text))
        key = _KEY.search(source.text, principal.end(), limit)
        if key is None or key["id"] == principal["id"] or not _ACCOUNT.search(source.text, key.start(), limit):
            continue
        yield Finding(
            at=Span(source, *key.span("id")),
            message="the condition is about another OIDC provider than the principal: no token meets it",
            note="the role gives the controller no credentials",
            also=[Also(Span(source, *principal.span("id")), "the role trusts this provider")],
            help="write the same provider in both places",
        )


def _find_cluster_of_chart(source: Source, context: Context) -> "terraform_trace.BlockText | None":
    """Return the block that creates the cluster in the chart's `settings.clusterName`.

    None if it is not known, or if a file may be of another root module than the chart.
    """
    installs, blocks = context.run_files.installs, context.run_files.terraform
    settings = installs[0].find("CLUSTER_NAME") if len(installs) == 1 else ()
    if len(settings) != 1 or not blocks.may_share_root(settings[0].node.source.path, source.path):
        return None
    node = settings[0].node
    written = _VALUE.match(node.source.text, node.end) if node.source.path.endswith(_HCL) else None
    return _find_cluster(written[1], node.source.path, blocks) if written is not None else None


def _list_expressions(block: "terraform_trace.BlockText") -> tuple[list[str], list[str]]:
    """Return the expressions of a role for the controller: its providers, and those in the keys of its condition."""
    if karpenter_calls.is_karpenter_call(block):
        given = terraform_blocks.own_arguments(block.text)
        provider = given.get("irsa_oidc_provider_arn")
        return ([provider], [given.get("cluster_name", "")]) if provider is not None else ([], [])
    if not _ACCOUNT.search(block.text):
        return [], []
    return _FEDERATED.findall(block.text), _KEYS.findall(block.text)


def _list_addresses(
    block: "terraform_trace.BlockText", texts: list[str], blocks: "terraform_trace.TerraformBlocks"
) -> "dict[str, terraform_trace.BlockText]":
    """Return the clusters of some expressions by their addresses. Those that are not known are left out."""
    found = [_find_cluster(text, block.source.path, blocks) for text in texts]
    return {cluster.address: cluster for cluster in found if cluster is not None}


def _find_cluster(
    expression: str, path: str, blocks: "terraform_trace.TerraformBlocks"
) -> "terraform_trace.BlockText | None":
    """Return the block that creates the cluster, or whose OIDC provider an expression is. None if it is not known."""
    found = blocks.trace(expression, path)
    block = blocks.find(found) if found is not None else None
    if block is not None and block.kind == "aws_iam_openid_connect_provider":
        found = blocks.trace(terraform_blocks.own_arguments(block.text).get("url", ""), block.source.path)
        block = blocks.find(found) if found is not None else None
    is_module = block is not None and '"terraform-aws-modules/eks/aws"' in block.text
    return block if block is not None and (block.kind == "aws_eks_cluster" or is_module) else None
