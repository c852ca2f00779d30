"""The manifest contains a placeholder that nobody replaced, such as `<cluster-name>` or `your-node-role`.

The rule also reports whole values such as `cluster-name` and `changeme`, and ids that AWS does not create, such as
`sg-zzzz`, because an id is a hexadecimal number. It also reports ids from documentation, such as `ami-123` and
`subnet-0123456789abcdef0`, and a `kmsKeyID` that is not an id, an ARN or an alias.

For Kubernetes a placeholder is an ordinary value. No role, subnet tag or image has this name, so the class never
becomes ready. The API server refuses it as a name or a label. Other rules do not judge values that depend on it.

The rule ignores templates (Helm, Jinja, Terraform, files named `.tpl`, `.tftpl`, `.j2`, `.tmpl` or `.template`),
scripts, documentation, and files that are named as an example or template. In a folder of examples a placeholder is
meant, so only the strict profile reports it. The rule ignores annotations, and objects with a
`uid` or `resourceVersion`, because an API server has stored them. It also ignores `${X}` and `$X`, which tools such
as envsubst or Flux replace. If a script replaces the text with `sed`, add the comment
`# nodelint: ignore[placeholder-left]`.

```yaml bad frame=class
spec.role: your-karpenter-node-role
spec.subnetSelectorTerms:
  - tags:
      karpenter.sh/discovery: <cluster-name>
spec.securityGroupSelectorTerms:
  - tags:
      karpenter.sh/discovery: <cluster-name>
```

```yaml good frame=class
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
    dummy_values,
    messages,
    rule,
    userdata,
)

CODE = ("{{", "{%", "%{")

DOCUMENTED_ACCOUNT = "123456789012"
"""The account ID of the examples in the documentation of AWS."""


@rule(
    on=Object,
    group="hazard",
    gives_way_to=["invalid-field", "removed-api"],
    providers=["aws", "auto-mode"],
    subject="templates",
    source=[
        "https://karpenter.sh/docs/getting-started/getting-started-with-karpenter/",
        "https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_identifiers.html",
    ],
    tags=["names"],
)
def check(obj: Object, context: Context) -> Findings:
    source = obj.source
    if obj.live or dummy_values.is_template_name(source.path):
        return
    if obj.document.host == "terraform":  # which fills in `${}` alone: an id that stands there stays
        yield from _report(list(_ids(obj)))
        return
    if obj.document.host not in (None, "block") or obj.document.templated:
        return
    whole, places = source.text[obj.node.start : obj.node.end], list(_ids(obj))
    if dummy_values.is_dummy_value(whole) is not None or dummy_values.may_hold_stand_in_name(
        whole
    ):  # in a comment, maybe
        reported = {id(node) for node, _ in places}
        places += [place for place in (*_places(obj.node), *_of_user_data(obj)) if id(place[0]) not in reported]
    if not any(map(source.holds, CODE)):
        yield from _report(places)


def _report(places: list[tuple[Node | Span, str]]) -> Findings:
    if not places:
        return
    node, left = places[0]
    others = list(dict.fromkeys(text for _, text in places if text != left))
    more = f" and {messages.counted(len(others), 'other placeholder')}" if others else ""
    written = node.unquoted if isinstance(node, Node) else left
    in_examples = dummy_values.is_of_examples(node.source.path)
    yield Finding(
        at=node,
        severity="info" if in_examples else None,
        strict=in_examples,
        message=f"nobody replaced the placeholder `{messages.short(written)}`{more}",
        also=[Also(place, "this is also a placeholder") for place, _ in places[1:6]],
        note="no tool replaces it in this file, so Kubernetes uses it as the value",
    )


def _ids(obj: Object) -> Iterator[tuple[Node | Span, str]]:
    """Yield the node and the text of each ID of a class (selector terms, KMS keys, snapshots) that is a placeholder:
    `sg-zzzz`, `kms-key-arn`, `SNAPSHOT`.
    """
    if isinstance(obj, EC2NodeClass):
        terms = (*obj.ami_terms, *obj.subnet_terms, *obj.security_group_terms, *obj.reservation_terms)
        for term in terms:
            node = term.node.get("id")
            if (
                node is not None
                and isinstance(term.id, str)
                and (dummy_values.no_id(term.id) or dummy_values.is_malformed_id(term.id))
            ):
                yield node, term.id
            owner = term.node.get("owner")
            if owner is not None and owner.value == DOCUMENTED_ACCOUNT:
                yield owner, DOCUMENTED_ACCOUNT
        mappings = obj.node.find("spec", "blockDeviceMappings")
        for mapping in mappings.items if mappings is not None and mappings.kind == "sequence" else ():
            key = mapping.find("ebs", "kmsKeyID")
            if key is not None and isinstance(key.value, str) and key.value and dummy_values.no_kms_key(key.value):
                yield key, key.value
            snapshot = mapping.find("ebs", "snapshotID")
            if snapshot is not None and isinstance(snapshot.value, str) and dummy_values.no_snapshot(snapshot.value):
                yield snapshot, snapshot.value


def _of_user_data(obj: Object) -> Iterator[tuple[Node | Span, str]]:
    """Yield the place and the text of each placeholder for the cluster in user data of the family `Custom`.

    For other families, Karpenter writes the cluster.
    """
    data = userdata.read_custom(obj, None) if isinstance(obj, EC2NodeClass) and obj.ami_family == "Custom" else None
    for start, end in data.joining() if data is not None and "\n" in data.text else ():
        assert data is not None
        left = dummy_values.is_dummy_value(data.text[start:end])
        if left is not None:
            at = data.text.find(left, start, end)
            yield data.places.locate(at, at + len(left)) if at >= 0 else data.places.locate(start, end), left


def _word(node: Node, is_key: bool) -> str | None:
    """Return a word that is written instead of a real value, such as `CLUSTER_NAME`: the whole value of a field, or
    the cluster in a key. None for other texts.
    """
    if not isinstance(node.value, str):
        return None
    # Other keys may well be called so.
    written = node.value.partition("kubernetes.io/cluster/")[2] if is_key else node.value
    return written if dummy_values.stand_in_name(written) else None


def _places(node: Node) -> list[tuple[Node | Span, str]]:
    """Return the node and the text of each placeholder in the values of one line."""
    found: list[tuple[Node | Span, str]] = []
    for value, is_key in _values(node):
        if value.kind != "scalar" or "\n" in value.text:
            continue
        left = dummy_values.is_dummy_value(value.unquoted) or _word(value, is_key)
        if left is not None:
            found.append((value, left))
    return found


def _values(node: Node) -> Iterator[tuple[Node, bool]]:
    """Yield the nodes of an object in the order of the file, without its annotations, each with whether it is a key.

    The value of a field `key`, such as that of a requirement, counts as a key.
    """
    pending = [(node, False)]
    while pending:
        child, is_key = pending.pop()
        yield child, is_key
        below = [(item, False) for item in child.items]
        for entry in child.entries:
            below.append((entry.key, True))
            if entry.name != "annotations":
                below.append((entry.value, entry.name == "key"))
        pending += reversed(below)
