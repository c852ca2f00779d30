"""The class selects subnets or security groups by a tag to which Terraform gives another value.

Karpenter finds nothing by such a selector, so the EC2NodeClass is never ready, and no node is launched. Usually the
tag has the name of a project and the selector has the name of the cluster, or the other way round.

The rule compares the selectors with the tags that Terraform's files set, with locals, defaults of variables and
variable files filled in. It reports nothing if the value of one tag is not known, if another class of the files does
match, or if other tools set the tag as well.

There is no fix: only the author knows which of the two values is right.

```yaml bad
# file: main.tf
module "vpc" {
  source              = "terraform-aws-modules/vpc/aws"
  version             = "6.6.0"
  name                = "main"
  enable_nat_gateway  = true
  private_subnet_tags = { "karpenter.sh/discovery" = "main" }
}
# file: class.yaml
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: default}
spec:
  role: node
  amiSelectorTerms: [{alias: al2023@v20260714}]
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: main-cluster}}]
  securityGroupSelectorTerms: [{id: sg-0f3a91c2b7d45e608}]
```

```yaml good diff=bad
-  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: main-cluster}}]
+  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
```
"""

import re
from collections.abc import Sequence

from nodelint.api import (
    Also,
    Context,
    EC2NodeClass,
    Finding,
    Findings,
    manifest,
    messages,
    rule,
    selectors,
    terraform_trace,
)

_KEY = re.compile(r"(?i)karpenter|discovery")
_PLACEHOLDER = re.compile(r"^[A-Z][A-Z0-9_]++$|[<>$%{}]|\b(?:your|example|change|replace)\b")
_OUT_OF_USE = re.compile(r"(?i)(?:^|[/_.-])(?:archived?|backups?|deprecated|disabled|legacy|old)(?:[/_.-])")


@rule(
    on=EC2NodeClass,
    group="correctness",
    severity="warning",
    subject="network",
    gives_way_to=["placeholder-left", "removed-api"],
    mentions=["discovery", "karpenter"],
    source=[
        "provider:pkg/controllers/nodeclass/subnet.go@v1.14.1:45",
        "provider:pkg/controllers/nodeclass/securitygroup.go@v1.14.1:45",
    ],
    tags=["terraform"],
)
def check(node_class: EC2NodeClass, context: Context) -> Findings:
    if _OUT_OF_USE.search(node_class.source.path):
        return
    for what in ("subnets", "security groups"):
        terms = _select_terms(node_class, what)
        tags = [_find_tag(term) for term in terms]
        first = tags[0] if tags else None
        if first is None or any(tag is None or tag.key != first.key for tag in tags):
            continue
        key = str(first.key)
        made = [tag for tag in context.run_files.terraform.tag_values(key, settled=False) if what in tag.on]
        values = {tag.value for tag in made}
        if not values or None in values or _is_set_elsewhere(key, context):
            continue
        listed = [term for other in _classes(context) for term in _select_terms(other, what)]
        selected = {tag.value for term in listed if (tag := _find_tag(term)) is not None}
        if values & selected or any(tag is None or tag.value in values for tag in tags):
            continue
        if not node_class.source.path.endswith(terraform_trace.ENDINGS) and selectors.name_other_environments(
            str(first.value), map(str, values)
        ):
            continue  # the class of another cluster
        settled = context.run_files.terraform.tag_values(key, settled=True)
        is_certain = all(tag.value is not None for tag in settled) and any(
            block.kind in ("aws_vpc", "aws_subnet") or '"terraform-aws-modules/vpc/aws"' in block.text
            for block in context.run_files.terraform.blocks
        )
        shown = " or ".join(f"`{messages.short(str(value), 40)}`" for value in sorted(map(str, values))[:2])
        yield Finding(
            at=first.node,
            message=f"the {what} get {shown} as `{messages.short(key, 40)}` from Terraform, not this value",
            also=[Also(tag.at, "Terraform writes this tag") for tag in made[:2]],
            note="the selector finds nothing, so the class is never ready",
            severity="error" if is_certain else None,
            help="give the tag and the selector the same value",
        )


def _select_terms(node_class: EC2NodeClass, what: str) -> Sequence[manifest.SelectorTerm]:
    return node_class.subnet_terms if what == "subnets" else node_class.security_group_terms


def _classes(context: Context) -> Sequence[EC2NodeClass]:
    return [obj for obj in context.objects if isinstance(obj, EC2NodeClass)]


def _find_tag(term: manifest.SelectorTerm) -> "manifest.Label | None":
    """Return the discovery tag of a term, which Terraform may set.

    None if the term has no such tag, or selects by other means.
    """
    tags = [tag for tag in term.tags if isinstance(tag.key, str) and _KEY.search(tag.key)]
    if term.id or term.name or len(tags) != 1 or "kubernetes.io" in str(tags[0].key):
        return None
    value = tags[0].value
    return tags[0] if isinstance(value, str) and value != "*" and not _PLACEHOLDER.search(value) else None


def _is_set_elsewhere(key: str, context: Context) -> bool:
    """Return whether another file sets the tag, or Terraform looks up existing resources by the tag."""
    for file in context.run_files.files_with(key, around=True):
        if file.path.endswith(terraform_trace.ENDINGS):
            if f"tag:{key}" in file.text:
                return True
        elif "EC2NodeClass" not in file.text and file.built is None:
            return True
    return False
