"""A role's trust names the cluster's OIDC issuer where IAM wants the ARN of the OIDC provider, or the reverse.

The principal of a role for service accounts (IRSA) is the ARN of an OIDC provider. With the issuer's URL there, IAM
refuses the role: `MalformedPolicyDocument: Invalid principal in policy`. The keys of its conditions begin with the
issuer without `https://`: `oidc.eks.eu-west-1.amazonaws.com/id/EXAMPLE:sub`. With an ARN or with `https://`, no token
ever meets the condition, and the controller gets no credentials.

The rule follows references through locals, variables and outputs to the cluster, the module, or the provider.

There is no fix: the reference to the right value differs by module.

```yaml bad
# file: main.tf
module "eks" {
  source  = "terraform-aws-modules/eks/aws"
  version = "~> 20.0"
}
module "karpenter" {
  source                 = "terraform-aws-modules/eks/aws//modules/karpenter"
  version                = "~> 20.0"
  cluster_name           = module.eks.cluster_name
  enable_irsa            = true
  irsa_oidc_provider_arn = module.eks.cluster_oidc_issuer_url
}
```

```yaml good diff=bad
-  irsa_oidc_provider_arn = module.eks.cluster_oidc_issuer_url
+  irsa_oidc_provider_arn = module.eks.oidc_provider_arn
```
"""

import re
from collections.abc import Iterator

from nodelint.api import Also, Context, Finding, Findings, Source, Span, rule, terraform_trace

_ARN_WANTED = re.compile(
    r'(?m)(?:^|[{,])[ \t]*"?(?:irsa_oidc_provider_arn|oidc_provider_arn|provider_arn|Federated)"?[ \t]*[=:][ \t]*'
    r'(?P<value>(?:[^\s#,{}"\[\]]|\[[^\]\n]*\])++|"\$\{[^{}\n]+\}")[ \t]*+(?:[,}#\r]|$)'
)
_FEDERATED = re.compile(
    r'(?s)principals[ \t]*\{(?=[^{}]*\btype[ \t]*=[ \t]*"Federated")[^{}]*?\bidentifiers[ \t]*=[ \t]*'
    r'\[\s*(?P<value>[\w.\[\]-]+|"\$\{[^{}\n]+\}")\s*,?\s*\]'
)
_KEY = re.compile(r'"\$\{(?P<value>[\w.\[\]-]+)\}:(?:sub|aud)"')
_ISSUER, _URL_OF_PROVIDER, _ARN = "the URL of the issuer", "the URL of the provider", "an ARN"


@rule(
    on=Source,
    group="correctness",
    subject="security",
    mentions=["oidc_provider_arn", "provider_arn", "Federated", ':sub"', ':aud"'],
    tags=["root-module"],
    source=[
        "https://docs.aws.amazon.com/eks/latest/userguide/associate-service-account-role.html",
        "https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_iam-condition-keys.html",
        "https://registry.terraform.io/providers/hashicorp/aws/latest/docs/resources/eks_cluster",
    ],
)
def check(source: Source, context: Context) -> Findings:
    if source.built is not None or not source.path.endswith(terraform_trace.ENDINGS):
        return
    blocks = context.run_files.terraform
    for found in _list_principals(source):
        kind = _kind_of(found["value"], source, blocks)
        if kind in (_ISSUER, _URL_OF_PROVIDER):
            yield Finding(
                at=Span(source, *found.span("value")),
                message=f"this is {kind}, not the ARN of the OIDC provider: IAM refuses the role",
                help="use the ARN: `arn` of the `aws_iam_openid_connect_provider`, or `oidc_provider_arn` of the "
                "module for EKS",
            )
    keys: dict[str, list[Span]] = {}
    for found in _KEY.finditer(source.text):
        keys.setdefault(found["value"], []).append(Span(source, *found.span("value")))
    for written, (first, *others) in keys.items():
        kind = _kind_of(written, source, blocks)
        if kind in (_ISSUER, _ARN):
            yield Finding(
                at=first,
                also=[Also(other, "the value is the same here") for other in others],
                message=f"the key of the condition begins with {kind}: no token meets it, and the role gives no "
                "credentials",
                help='write the issuer without `https://`: `replace(..., "https://", "")`, or `oidc_provider` of the '
                "module for EKS",
            )


def _list_principals(source: Source) -> "Iterator[re.Match[str]]":
    yield from _ARN_WANTED.finditer(source.text)
    yield from _FEDERATED.finditer(source.text)


def _kind_of(expression: str, source: Source, blocks: "terraform_trace.TerraformBlocks") -> str | None:
    """Return what an expression certainly is: the URL of the issuer, the URL of the provider, or an ARN.

    None if it is not known, or is something else.
    """
    found = blocks.trace(expression, source.path)
    if found is None or not found.attributes:
        return None
    block, last = blocks.find(found), found.attributes[-1]
    kind = found.address.removeprefix("data.").partition(".")[0]
    if kind == "aws_iam_openid_connect_provider":
        return {"arn": _ARN, "url": _URL_OF_PROVIDER}.get(last)
    if kind == "aws_eks_cluster":
        return _ISSUER if last == "issuer" else None
    if kind == "module" and block is not None and "terraform-aws-modules/eks/aws" in block.text:
        return {"cluster_oidc_issuer_url": _ISSUER, "oidc_provider_arn": _ARN}.get(last)
    return None
