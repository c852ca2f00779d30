"""A reference of Terraform, such as `${var.cluster_name}`, in a file that is no Terraform: nothing replaces it.

`var`, `local`, `module`, `each` and `path` exist in Terraform's own files only. A file that `templatefile` reads
knows the names that it is given, and no others: `${cluster_name}`. envsubst and Flux replace `${CLUSTER_NAME}`, and
leave or refuse a name with a dot. So kubectl sends the text as it stands: as a name or a label it is refused, as a
role, a tag or an image it finds nothing.

```yaml bad
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata:
  name: default
spec:
  role: ${var.node_role}
  amiSelectorTerms:
    - alias: al2023@v20250403
  subnetSelectorTerms:
    - tags:
        karpenter.sh/discovery: ${var.cluster_name}
  securityGroupSelectorTerms:
    - tags:
        karpenter.sh/discovery: ${var.cluster_name}
```

```yaml good
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata:
  name: default
spec:
  role: ${node_role}
  amiSelectorTerms:
    - alias: al2023@v20250403
  subnetSelectorTerms:
    - tags:
        karpenter.sh/discovery: ${cluster_name}
  securityGroupSelectorTerms:
    - tags:
        karpenter.sh/discovery: ${cluster_name}
```
"""

import re
from collections.abc import Iterator

from nodelint.api import Also, Context, Finding, Findings, Object, Span, rule

REFERENCE = r"(?<!\$)\$\{\s*(var|local|module|each|path)\.[A-Za-z_][^{}\n]*\}"
LOOP = r"%\{~?\s*for\s+([\w-]+)(?:\s*,\s*([\w-]+))?\s+in\s"
SEVERAL = 5


@rule(on=Object, group="correctness")
def check(obj: Object, context: Context) -> Findings:
    source = obj.source
    if "${" not in source.text or obj.document.host not in (None, "block") or "kro.run/" in source.text:
        return
    places = list(_places(obj))
    if not places:
        return
    first = places[0]
    written = source.text[first.start : first.end]
    name = obj.node.at("metadata", "name")
    is_name = name is not None and name.start <= first.start < name.end
    yield Finding(
        at=first,
        message=f"`{written}` is Terraform's, and nothing replaces it in this file",
        also=[Also(place, "another one") for place in places[1 : SEVERAL + 1]],
        note="the API server refuses it as a name" if is_name else "Kubernetes takes it as the value",
        help="write `${name}` and give it with `templatefile` or envsubst, or move the object into Terraform",
    )


def _places(obj: Object) -> Iterator[Span]:
    text = obj.source.text
    own = {name for names in re.findall(LOOP, text) for name in names}  # names that a template gives itself
    for match in re.compile(REFERENCE).finditer(text, obj.node.start, obj.node.end):
        line = text[text.rfind("\n", 0, match.start()) + 1 : match.start()]
        if match[1] not in own and not line.lstrip().startswith("#"):
            yield Span(obj.source, *match.span())
