r"""A name or tag selects images of your own on a release that takes an image which is still pending.

When a pipeline registers a new image it is `pending` for some minutes. Karpenter before 1.2.2 asked for images
without asking for available ones: the pending image is the newest match, nodes drift at once, and replacements cannot
be launched from it. A failed image stays the newest match for good. Fixed in 1.2.2 and 1.3.0; never in 1.1 and older.

Upgrading is the way out. Until then a second tag that the pipeline sets when the image is available (or tested) keeps
the others out; the fix adds it, and it is unsafe because no image may carry it yet. Ids, aliases and SSM parameters
do not have the trouble, and nobody but AWS sees AWS's own images while they are pending.

```yaml bad karpenter=1.2.1
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata:
  name: golden
spec:
  amiFamily: AL2023
  role: KarpenterNodeRole-main
  amiSelectorTerms:
    - tags:
        team: platform # set when the build starts
        os: al2023
  subnetSelectorTerms:
    - tags:
        karpenter.sh/discovery: main
  securityGroupSelectorTerms:
    - tags:
        karpenter.sh/discovery: main
```

```yaml good karpenter=1.2.1
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata:
  name: golden
spec:
  amiFamily: AL2023
  role: KarpenterNodeRole-main
  amiSelectorTerms:
    - tags:
        team: platform # set when the build starts
        os: al2023
        image-verified: "true"
  subnetSelectorTerms:
    - tags:
        karpenter.sh/discovery: main
  securityGroupSelectorTerms:
    - tags:
        karpenter.sh/discovery: main
```

```yaml bad karpenter=1.1.5
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: golden}
spec:
  amiFamily: AL2023
  role: KarpenterNodeRole-main
  amiSelectorTerms: [{name: 'golden-al2023-*', owner: self}]
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
```

```yaml good karpenter=1.1.5
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: golden}
spec:
  amiFamily: AL2023
  role: KarpenterNodeRole-main
  amiSelectorTerms: [{name: 'golden-al2023-*', owner: self, tags: {image-verified: 'true'}}]
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
```
"""

from nodelint.edits import NotEditable, add_key
from nodelint.finding import Edit, Finding, Findings, short
from nodelint.images.names import name_matches
from nodelint.manifest import EC2NodeClass, SelectorTerm
from nodelint.rule import Context, rule
from nodelint.source import UNKNOWN, Node
from nodelint.versions import fixed_for, has_defect
from nodelint.vocabulary import says_ready

DEFECT = "pending-images"
SECOND_TAG = "image-verified"


@rule(on=EC2NodeClass, severity="warning", fix="unsafe", releases="<1.2.2")
def check(node_class: EC2NodeClass, context: Context) -> Findings:
    if not has_defect(DEFECT, context.karpenter):
        return
    release = fixed_for(DEFECT, context.karpenter)
    for term in node_class.ami_terms:
        found = _selector(term)
        if found is not None:
            at, what = found
            yield Finding(
                at=at,
                message=f"{what} can select an image that is still pending, until Karpenter {release}",
                edits=_second_tag(term),
                hint=f"go to Karpenter {release}, or add a tag that is set once the image is available",
            )


def _selector(term: SelectorTerm) -> tuple[Node, str] | None:
    """The name or tags by which a term selects, unless they tell that the image is ready or is AWS's own."""
    if term.alias is not None or term.id is not None or term.ssm_parameter is not None:
        return None
    tags = term.node.get("tags")
    if term.owner == "amazon" or term.owner is UNKNOWN or (tags is not None and tags.value is UNKNOWN):
        return None
    if any(not isinstance(tag.key, str) or says_ready(tag.key) for tag in term.tags):
        return None
    if term.name:
        node = term.node.get("name")
        if node is None or not isinstance(term.name, str) or (term.owner != "self" and name_matches(term.name)):
            return None
        return node, f"the name `{short(term.name, 30)}`"
    node = term.node.key("tags")
    if node is None or not term.tags:
        return None
    first = short(str(term.tags[0].key), 24)
    return node, f"the tag `{first}`" if len(term.tags) == 1 else f"the tags `{first}`, …"


def _second_tag(term: SelectorTerm) -> list[Edit]:
    tags = term.node.get("tags")
    try:
        if tags is not None and tags.kind == "mapping":
            return add_key(tags, SECOND_TAG, "true")
        return add_key(term.node, "tags", {SECOND_TAG: "true"})
    except NotEditable:
        return []
