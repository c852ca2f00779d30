"""A manifest contains a Terraform reference, such as `${var.cluster_name}`, that nothing replaces.

`var`, `local`, `module`, `each` and `path` exist only in Terraform's own files. A file that `templatefile` reads
knows only the names that it gets: `${cluster_name}`. envsubst and Flux replace `${CLUSTER_NAME}`, and ignore or
refuse a name with a dot. So kubectl sends the text unchanged. The API server refuses it as a name or a label. As a
role, a tag or an image, it matches nothing. The same is true without `${}`, also in a heredoc of Terraform: there
`module.karpenter.node_role` is an ordinary text.

There is no fix: what fills in the file is in another file or does not exist yet.

```yaml bad frame=class
spec.role: ${var.node_role}
spec.subnetSelectorTerms:
  - tags:
      karpenter.sh/discovery: ${var.cluster_name}
spec.securityGroupSelectorTerms:
  - tags:
      karpenter.sh/discovery: var.cluster_name
```

```yaml good frame=bad
spec.role: ${node_role}
spec.subnetSelectorTerms:
  - tags:
      karpenter.sh/discovery: ${cluster_name}
spec.securityGroupSelectorTerms:
  - tags:
      karpenter.sh/discovery: ${cluster_name}
```
"""

import re
from collections.abc import Iterator

from nodelint.api import Also, Context, Edit, Finding, Findings, Node, Object, Span, Suggestion, rule

PROVIDERS = ("aws", "azurerm", "google", "helm", "kubernetes", "kubectl", "random", "terraform", "tls")
RESOURCE = rf"(?:data\.)?(?:{'|'.join(PROVIDERS)})_\w+\.[A-Za-z_]\w*[.\[]"
REFERENCE = rf"(?<!\$)\$\{{\s*(?:(var|local|module|each|path|data)\.[A-Za-z_]|()(?={RESOURCE}))[^{{}}\n]*\}}"
STEPS = r"(?:\.[A-Za-z_*]\w*|\[(?:\d+|\*|\"[^\"\]]*\")\])"
BARE = (
    rf"module\.[A-Za-z_][\w-]*{STEPS}+|each\.(?:key|value){STEPS}*|{RESOURCE}[\w.*\[\]\"]+"
    rf"|(?:var|local)\.[A-Za-z_]\w*+(?:(?=[^\[\n]*\[){STEPS}*+(?:\[[^\]]*\]{STEPS}*+)?|(?:\.[^\W_]*_\w*)*)"
)
"""A value that consists of a single Terraform reference. A host name, such as `local.example.com`, does not match."""
MARKS = ("module.", "each.", "var.", "local.", *(f"{provider}_" for provider in PROVIDERS))
"""Each value that matches `BARE` contains one of these texts."""
JSON_FILES = (".tf.json", ".tofu.json")
"""The ends of Terraform files in JSON, in which each text is a template."""
SEVERAL = 5
HELP = "write `${name}` and pass it with `templatefile` or envsubst, or move the object into Terraform"


@rule(
    on=Object,
    group="correctness",
    subject="templates",
    source="https://developer.hashicorp.com/terraform/language/expressions/strings",
    mentions=["${", *MARKS],
)
def check(obj: Object, context: Context) -> Findings:
    source = obj.source
    host = obj.document.host
    if host not in (None, "block", "terraform") or source.holds("kro.run/"):
        return
    is_terraform = host == "terraform" or source.path.endswith(JSON_FILES)
    marked = _places(obj, context) if not is_terraform else ()
    bare = list(_bare(obj))
    places = sorted([*marked, *map(_inside, bare)], key=lambda place: place.start)
    if not places:
        return
    first = places[0]
    written = source.text[first.start : first.end]
    name = obj.node.find("metadata", "name")
    is_name = name is not None and name.start <= first.start < name.end
    where = "without `${}`" if is_terraform else "in this file"
    yield Finding(
        at=first,
        message=f"`{written}` is a Terraform reference, and nothing replaces it {where}",
        also=[Also(place, "this reference also fails") for place in places[1 : SEVERAL + 1]],
        note="the API server refuses it as a name" if is_name else "Kubernetes stores this text itself as the value",
        help=f"write `${{{written}}}`" if is_terraform else HELP,
        covers=bare,
        suggestions=_ways(places, is_terraform),
    )


def _ways(places: list[Span], terraform: bool) -> list[Suggestion]:
    """Return a suggestion that writes the references in `${}`.

    In a manifest, the suggestion uses names that `templatefile` or envsubst can fill in.
    """
    changes = []
    for place in places:
        text = place.source.text[place.start : place.end]
        name = re.fullmatch(r"(?:\$\{\s*)?(?:var|local|module|each|data|[\w.]+)\.([A-Za-z_]\w*)(?:\s*\})?", text)
        if name is None and not terraform:
            return []
        written = f"${{{text}}}" if terraform or name is None else f"${{{name[1]}}}"
        changes.append(Edit(place.source, place.start, place.end, written))
    if terraform:
        return [Suggestion("write them in `${}`", changes)]
    shown = ", ".join(dict.fromkeys(f"`{change.text}`" for change in changes[:3]))
    return [Suggestion(f"write {shown}, and pass it with `templatefile` or envsubst", changes)]


def _places(obj: Object, context: Context) -> Iterator[Span]:
    if not obj.source.holds("${"):
        return
    text = obj.source.text
    own = context.templates.loop_names(obj.source)  # names that a template gives itself
    for match in re.compile(REFERENCE).finditer(text, obj.node.start, obj.node.end):
        line = text[text.rfind("\n", 0, match.start()) + 1 : match.start()]
        span = Span(obj.source, *match.span())
        if match[1] not in own and not line.lstrip().startswith("#") and _file_holds(span):
            yield span


def _file_holds(span: Span) -> bool:
    """Return whether a reference is written in a file. False for a reference that a rendered value only adds."""
    if span.source.built is None:
        return True
    origin = span.source.built.find_origin(span)
    at = origin.at if origin is not None else None
    return at is not None and span.source.text[span.start : span.end] in at.source.text[at.start : at.end]


def _inside(node: Node) -> Span:
    quoted = node.style in ("single", "double")
    return Span(node.source, node.start + quoted, node.end - quoted)


def _bare(obj: Object) -> Iterator[Node]:
    """Yield each value that is a single Terraform expression without `${}`."""
    if not any(map(obj.source.holds, MARKS)):
        return
    metadata = obj.node.get("metadata")
    notes = metadata.get("annotations") if metadata is not None else None
    passed = {id(node) for node in notes.walk()} if notes is not None else set()
    pattern = re.compile(BARE)
    for node in obj.node.walk():
        value = node.value
        if not isinstance(value, str) or "." not in value or not pattern.fullmatch(value):
            continue
        if id(node) not in passed and node.unquoted == value:
            yield node
