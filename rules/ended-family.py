"""The image family has an operating system that gets no more updates: Amazon Linux 2.

Amazon Linux 2 ended on 2026-06-30. EKS publishes no image of it for Kubernetes 1.33 and newer. Your own images of it
still boot, but kernel, containerd and kubelet get no patches. Its successor `AL2023` needs other user data: a
NodeConfig instead of `bootstrap.sh`. If the cluster's Kubernetes version has no images of the family,
`unsupported-alias` reports it.

Canonical's Ubuntu images for EKS also use `amiFamily: AL2`, because their user data has the same form. They still get
patches, so the rule does not report them.

```yaml bad frame=class
spec.amiFamily: AL2
spec.amiSelectorTerms:
  - name: golden-al2-*
    owner: self
```

```yaml good frame=class
spec.amiFamily: AL2023
spec.amiSelectorTerms:
  - name: golden-al2023-*
    owner: self
```
"""

from nodelint.api import Context, EC2NodeClass, Finding, Findings, images, manifest, rule


@rule(
    on=EC2NodeClass,
    group="hazard",
    gives_way_to=["unsupported-alias", "other-family-image", "removed-api"],
    subject="images",
    source=[
        "https://aws.amazon.com/amazon-linux-2/faqs/",
        "https://docs.aws.amazon.com/eks/latest/userguide/eks-ami-deprecation-faqs.html",
        "https://karpenter.sh/docs/concepts/nodeclasses/",
    ],
    cel=(
        "has(object.spec.amiSelectorTerms) && object.spec.amiSelectorTerms.exists(t, has(t.alias)) ? "
        "!object.spec.amiSelectorTerms.exists(t, has(t.alias) && t.alias.startsWith('al2@')) : "
        "!has(object.spec.amiFamily) || object.spec.amiFamily != 'AL2' || "
        "(has(object.spec.amiSelectorTerms) && size(object.spec.amiSelectorTerms) > 0 && "
        "object.spec.amiSelectorTerms.all(t, (has(t.owner) && t.owner == '099720109477') || (has(t.name) "
        "&& t.name.lowerAscii().contains('ubuntu')) || (has(t.ssmParameter) && "
        "t.ssmParameter.lowerAscii().contains('ubuntu')) || (has(t.tags) && t.tags.exists(k, "
        "t.tags[k].lowerAscii().contains('ubuntu')))))"
    ),
    tags=["ended-image"],
)
def check(node_class: EC2NodeClass, context: Context) -> Findings:
    node, family = node_class.ami_family_node, str(node_class.ami_family)
    if any(term.alias is not None for term in node_class.ami_terms):
        found = context.images(node_class)
        node, family = found.alias_node, found.boots or ""
    ended = images.ended(family)
    if node is not None and ended is not None and not _runs_ubuntu(node_class):
        title, day, successor = ended
        yield Finding(
            at=node,
            message=f"images of `{node.value}` get no more patches: {title} reached end of life on {day}",
            once=title,
            help=f"move to `{successor}`, with user data for it" if successor else None,
        )


def _runs_ubuntu(node_class: EC2NodeClass) -> bool:
    """Return whether each term selects images of Ubuntu, by its owner, name or tags."""
    return bool(node_class.ami_terms) and all(map(_of_ubuntu, node_class.ami_terms))


def _of_ubuntu(term: manifest.SelectorTerm) -> bool:
    named = [text for text in (term.name, term.ssm_parameter, *(tag.value for tag in term.tags)) if text]
    return term.owner == images.canonical() or any("ubuntu" in str(text).lower() for text in named)
