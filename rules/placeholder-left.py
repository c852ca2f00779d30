"""A value that a person was to replace, such as `<cluster-name>` or `your-node-role`, in a manifest that looks final.

Such a text is a value like any other to Kubernetes. A role, a subnet tag or an image of that name is not there, so
that the class never becomes ready; as a name or a label it is refused. Other rules judge nothing that hangs on it.

The rule is silent in templates (Helm, Jinja, Terraform, files named `.tpl`, `.tftpl`, `.j2`, `.tmpl` or
`.template`), in scripts, in texts for readers and in files named as an example or template. `${X}` and `$X` are
filled in by tools, such as envsubst or Flux, and are no finding. Where a script replaces the text with `sed`, say so
with a comment: `# nodelint: ignore[placeholder-left]`.

```yaml bad
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata:
  name: default
spec:
  role: your-karpenter-node-role
  amiSelectorTerms:
    - alias: al2023@v20250403
  subnetSelectorTerms:
    - tags:
        karpenter.sh/discovery: <cluster-name>
  securityGroupSelectorTerms:
    - tags:
        karpenter.sh/discovery: <cluster-name>
```

```yaml good
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata:
  name: default
spec:
  role: KarpenterNodeRole-main
  amiSelectorTerms:
    - alias: al2023@v20250403
  subnetSelectorTerms:
    - tags:
        karpenter.sh/discovery: main
  securityGroupSelectorTerms:
    - tags:
        karpenter.sh/discovery: main
```
"""

from collections.abc import Iterator

from nodelint.api import (
    Also,
    Context,
    EC2NodeClass,
    Finding,
    Findings,
    Node,
    Object,
    Span,
    labels,
    messages,
    rule,
    userdata,
)

CODE = ("{{", "{%", "%{")
TEMPLATES = ("template", ".example", ".sample", "-example", "-sample", ".tpl", ".tftpl", ".tmpl", ".j2")


@rule(on=Object, group="hazard", gives_way_to=["invalid-field", "removed-api"])
def check(obj: Object, context: Context) -> Findings:
    source = obj.source
    name = source.path.rpartition("/")[2].lower()
    if obj.document.host not in (None, "block") or obj.document.templated or any(part in name for part in TEMPLATES):
        return
    if labels.stand_in(source.text[obj.node.start : obj.node.end]) is None:
        return  # not even in a comment
    places = [*_places(obj.node), *_of_user_data(obj)]
    if not places or any(mark in source.text for mark in CODE):
        return
    node, left = places[0]
    others = list(dict.fromkeys(text for _, text in places if text != left))
    more = f" and {messages.counted(len(others), 'other placeholder')}" if others else ""
    written = node.written if isinstance(node, Node) else left
    yield Finding(
        at=node,
        message=f"placeholder not replaced: `{messages.short(written)}`{more}",
        also=[Also(place, "another placeholder") for place, _ in places[1:6]],
        note="nothing in this file fills it in: Kubernetes takes it as the value",
    )


def _of_user_data(obj: Object) -> Iterator[tuple[Node | Span, str]]:
    """What names the cluster in user data of the family `Custom`: for other families Karpenter does."""
    data = userdata.read_custom(obj, None) if isinstance(obj, EC2NodeClass) and obj.ami_family == "Custom" else None
    for start, end in data.joining() if data is not None and "\n" in data.text else ():
        assert data is not None
        left = labels.stand_in(data.text[start:end])
        if left is not None:
            at = data.text.find(left, start, end)
            yield data.places.at(at, at + len(left)) if at >= 0 else data.places.at(start, end), left


def _places(node: Node) -> list[tuple[Node | Span, str]]:
    """Values of one line that hold such a text, each with it."""
    found: list[tuple[Node | Span, str]] = []
    for each in node.walk():
        if each.kind != "scalar" or "\n" in each.text:
            continue
        left = labels.stand_in(each.written)
        if left is not None:
            found.append((each, left))
    return found
