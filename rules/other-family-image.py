r"""The image belongs to another family than `amiFamily`, so nodes do not join.

`amiFamily` decides which user data a node gets: a NodeConfig for AL2023, settings for Bottlerocket, a bootstrap
script for AL2. The image must be able to read it. If the terms find an image of another family by its published name
or parameter, or a Windows image for another family, no node joins the cluster.

An image id that Terraform looks up (`aws_ssm_parameter`, or `aws_ami` with a filter on `name`) belongs to the family
of this parameter or name. There is no fix for such an id: only the author knows whether the image or the family is
meant.

The rule does not judge Ubuntu images, which read AL2's user data, nor `Custom`, whose user data is your own.

```yaml bad frame=class
spec.amiFamily: AL2
spec.amiSelectorTerms:
  - name: amazon-eks-node-al2023-x86_64-standard-1.33-v20250403
```

```yaml bad frame=class
spec.amiFamily: AL2023
spec.amiSelectorTerms:
  - ssmParameter: /aws/service/bottlerocket/aws-k8s-1.33/x86_64/1.46.0/image_id
```

```yaml bad
# file: main.tf
data "aws_ssm_parameter" "image" {
  name = "/aws/service/eks/optimized-ami/1.33/amazon-linux-2/recommended/image_id"
}
resource "kubectl_manifest" "class" {
  yaml_body = yamlencode({
    apiVersion = "karpenter.k8s.aws/v1"
    kind       = "EC2NodeClass"
    metadata   = { name = "default" }
    spec = {
      role                       = "node"
      amiFamily                  = "AL2023"
      amiSelectorTerms           = [{ id = data.aws_ssm_parameter.image.value }]
      subnetSelectorTerms        = [{ tags = { "karpenter.sh/discovery" = "main" } }]
      securityGroupSelectorTerms = [{ tags = { "karpenter.sh/discovery" = "main" } }]
    }
  })
}
```

```yaml good diff=bad
-  name = "/aws/service/eks/optimized-ami/1.33/amazon-linux-2/recommended/image_id"
+  name = "/aws/service/eks/optimized-ami/1.33/amazon-linux-2023/x86_64/standard/recommended/image_id"
```
"""

import re

from nodelint.api import (
    UNKNOWN,
    Also,
    Context,
    EC2NodeClass,
    Finding,
    Findings,
    Node,
    Span,
    edits,
    images,
    manifest,
    messages,
    rule,
    terraform_trace,
)

_REFERENCE = re.compile(r"\$\{[^{}]*\}|\{\{[^{}]*\}\}")
_NAME_FILTER = re.compile(r'\bname\s*+=\s*+"name"\s*+values\s*+=\s*+\[\s*+("[^"\n]*+")\s*+,?\s*+\]')
_VERSION = re.compile(r"(?i)version|k8s|kube|eks|release")


@rule(
    on=EC2NodeClass,
    group="correctness",
    fix="unsafe",
    gives_way_to=["removed-api", "no-image"],
    mentions=["amiFamily"],
    subject="images",
    source=[
        "provider:pkg/providers/amifamily/ami.go@v1.14.1:83",
        "provider:pkg/providers/amifamily/resolver.go@v1.14.1:215",
    ],
)
def check(node_class: EC2NodeClass, context: Context) -> Findings:
    family, field = node_class.ami_family, node_class.ami_family_node
    if not isinstance(family, str) or family == "Custom" or field is None:
        return
    found = context.images(node_class)
    if found.alias is not None or not found.images:
        return
    if not found.complete:
        yield from _check_lookups(node_class, family, field, context)
        return
    own_data = node_class.user_data_node is not None
    # Ubuntu's images are of no family with an alias.
    known = {image.family for image in found.images}
    others = {images.ami_family_of(name) for name in known if name in images.families()}
    other = others.pop() if len(known) == len(others) == 1 else None
    first = found.images[0]
    if other is not None and other != family:
        yield Finding(
            at=field,
            message=f"the image is for {other}: it cannot read the userData of `{family}`, and nodes do not join",
            edits=edits.if_editable(edits.set_value, field, other) if not own_data else (),
            also=[Also(first.at, f"finds `{messages.short(first.found.name if first.found else first.label, 60)}`")],
            help="change userData and volumes as well: they are for the same family" if own_data else None,
        )
        return
    platforms = {image.found.platform for image in found.images if image.found is not None}
    if platforms == {"windows"} and not family.startswith("Windows"):
        yield Finding(
            at=field,
            message=f"the image is for Windows, but amiFamily is `{family}`",
            also=[Also(first.at, f"finds `{messages.short(first.found.name if first.found else first.label, 60)}`")],
        )


def _check_lookups(node_class: EC2NodeClass, family: str, field: Node, context: Context) -> Findings:
    """Yield a finding if the known part of each name or parameter shows images of one other family."""
    found = [_find_lookup(term, context) for term in node_class.ami_terms]
    others = {lookup[0] if lookup is not None else None for lookup in found}
    first = found[0] if len(others) == 1 else None
    if first is None or first[0] == family:
        return
    other, pattern, at = first
    yield Finding(
        at=field,
        message=f"the image is for {other}: it cannot read the userData of `{family}`, and nodes do not join",
        also=[Also(at, f"looks up `{messages.short(pattern, 60)}`")],
        help=f"look up an image of {family}, or change `amiFamily` to `{other}`",
    )


def _find_lookup(term: manifest.SelectorTerm, context: Context) -> tuple[str, str, Node | Span] | None:
    """Return the image that a term with a placeholder looks up: its amiFamily, the pattern of its name or parameter,
    and the place where the pattern is written.

    None if it selects images by other means, or if images of several families may have the name.
    """
    for key in ("name", "ssmParameter"):
        node = term.node.get(key)
        if node is not None and node.value is UNKNOWN and term.node.get("id") is None:
            return _make_lookup(node.unquoted, key == "name", node)
    id = term.node.get("id")
    if id is None or id.value is not UNKNOWN or not context.run_files.has_terraform:
        return None
    blocks = context.run_files.terraform
    reference = blocks.trace(id.text, id.source.path)
    block = blocks.find(reference) if reference is not None else None
    if block is None:
        return None
    if block.address.startswith("data.aws_ami."):
        names = _NAME_FILTER.findall(block.text)
        is_plain = len(names) == 1 and '"self"' not in block.text and "name_regex" not in block.text
        return _make_lookup(blocks.fill(names[0], block.source.path).strip('"'), True, block.at) if is_plain else None
    if not block.address.startswith("data.aws_ssm_parameter."):
        return None
    values = {given.value.value for given in blocks.argument_values(block, "name")}
    if len(values) == 1 and UNKNOWN not in values:
        return _make_lookup(str(values.pop()), False, block.at)
    written = terraform_trace.find_arguments(block.text, "name")[:1]  # the known part of the path is enough
    return _make_lookup(blocks.fill(written[0], block.source.path).strip('"'), False, block.at) if written else None


def _make_lookup(text: str, is_name: bool, at: Node | Span) -> tuple[str, str, Node | Span] | None:
    pattern = _REFERENCE.sub(lambda found: "1.??" if _VERSION.search(found[0]) else "*", text)
    matches = images.name_matches(pattern) if is_name else images.parameter_matches(pattern)
    families = {images.ami_family_of(family) if family in images.families() else None for _, _, family in matches}
    family = families.pop() if len(families) == 1 else None
    return (family, pattern, at) if family is not None else None
