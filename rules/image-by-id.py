"""A class pins an image by its id, so nodes get no patches until somebody writes another id.

If a node expires, its replacement uses the same image. An id belongs to one region and one architecture, and it does
not show its Kubernetes version. If the owner removes the image, the pool launches nothing. An alias with a version,
an SSM parameter, or a name or tag with an owner also pins the image and is readable. If a pipeline writes the id, you
can keep it.

```yaml bad frame=class
spec.amiFamily: AL2023
spec.amiSelectorTerms:
  - id: ami-0a1b2c3d4e5f60718
```

```yaml good frame=class
```
"""

from nodelint.api import Also, Context, EC2NodeClass, Finding, Findings, images, messages, rule


@rule(
    on=EC2NodeClass,
    group="practice",
    severity="info",
    gives_way_to=["no-image", "deprecated-image"],
    subject="images",
    source=[
        "provider:pkg/providers/amifamily/ami.go@v1.14.1:83",
        "https://karpenter.sh/docs/tasks/managing-amis/",
    ],
    cel="!has(object.spec.amiSelectorTerms) || !object.spec.amiSelectorTerms.all(t, has(t.id))",
)
def check(node_class: EC2NodeClass, context: Context) -> Findings:
    terms = [term for term in node_class.ami_terms if isinstance(term.id, str)]
    if not terms or len(terms) != len(node_class.ami_terms):
        return
    ended = images.ended(str(node_class.ami_family))
    family = ended[2] if ended is not None and ended[2] else node_class.ami_family
    alias = next((name for name in images.families() if images.ami_family_of(name) == family), None)
    first = messages.short(str(terms[0].id), 24)
    shown = f"`{first}`" if len(terms) == 1 else f"`{first}` and {len(terms) - 1} more"
    node = terms[0].node.get("id") or terms[0].node
    example = images.family_example(alias, context.kubernetes) if alias else None
    yield Finding(
        at=node,
        message=f"{shown}: an image pinned by id gets no patches, and exists in one region only",
        also=[Also(term.node, "pinned by id") for term in terms[1:]],
        help=f"an alias works in every region: `alias: {example}`" if example else None,
    )
