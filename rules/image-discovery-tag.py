r"""An image term has the tag by which the class finds its subnets or security groups.

You put `karpenter.sh/discovery` on subnets and security groups when you set up a cluster. Images rarely have it. If
no image has the tag, the term in `amiSelectorTerms` finds nothing and the class never becomes ready. The tag is
usually copied from a neighbouring term.

If you tag your images with it, the term is right. With facts from AWS this rule reports nothing, and `no-image`
checks whether an image has the tag.

```yaml bad frame=class
spec.amiFamily: AL2023
spec.amiSelectorTerms:
  - tags:
      karpenter.sh/discovery: main
```

```yaml good frame=class
spec.amiFamily: AL2023
```

The rule also reports a key that begins with `aws::`, such as `aws::ids`. AWSNodeTemplate used such keys for ids,
names and owners. In an EC2NodeClass it is an ordinary tag that no image has. Use `id`, `name` and `owner` of the term
instead.

```yaml bad frame=class
spec.amiFamily: AL2023
spec.amiSelectorTerms:
  - tags:
      aws::ids: ami-0c5dd1c52a3d4fe21
```

```yaml good frame=class
spec.amiFamily: AL2023
spec.amiSelectorTerms:
  - id: ami-0c5dd1c52a3d4fe21
```
"""

from nodelint.api import Also, Context, EC2NodeClass, Finding, Findings, images, manifest, rule


@rule(
    on=EC2NodeClass,
    group="hazard",
    gives_way_to=["no-image", "removed-api"],
    subject="images",
    source=[
        "provider:pkg/providers/amifamily/ami.go@v1.14.1:83",
        "https://karpenter.sh/docs/concepts/nodeclasses/",
    ],
    cel=(
        "!has(object.spec.amiSelectorTerms) || object.spec.amiSelectorTerms.all(t, "
        "!has(t.tags) || (t.tags.all(k, !k.startsWith('aws::')) && (has(t.name) || "
        "t.tags.all(k, (size(t.tags) != 1 && !k.contains('discovery')) || "
        "!((has(object.spec.securityGroupSelectorTerms) && "
        "object.spec.securityGroupSelectorTerms.exists(s, has(s.tags) && k in s.tags && s.tags[k] == "
        "t.tags[k])) || (has(object.spec.subnetSelectorTerms) && "
        "object.spec.subnetSelectorTerms.exists(s, has(s.tags) && k in s.tags && s.tags[k] == "
        "t.tags[k])))))))"
    ),
)
def check(node_class: EC2NodeClass, context: Context) -> Findings:
    if context.facts:
        return
    elsewhere = {
        _tag_text(tag): tag
        for term in (*node_class.security_group_terms, *node_class.subnet_terms)
        for tag in term.tags
    }
    for term in node_class.ami_terms:
        # Images may have tags such as `Name`; a discovery tag is only on the resources for which it was made.
        tags = [tag for tag in term.tags if len(term.tags) == 1 or "discovery" in str(tag.key)]
        tag = next((tag for tag in tags if _tag_text(tag) in elsewhere), None)
        special = next((tag for tag in term.tags if str(tag.key).startswith(_SPECIAL)), None)
        if special is not None:
            yield Finding(
                at=special.key_node,
                message=f"no image has the tag `{special.key}`: it was a special key of AWSNodeTemplate",
                note="without an image the class never becomes ready",
                help="select images by `id`, by `name` and `owner`, or by `alias`",
            )
            continue
        if tag is None or term.name:
            continue
        same, block = elsewhere[_tag_text(tag)], term.node.key("tags")
        family = node_class.ami_family
        alias = next((name for name in images.families() if images.ami_family_of(name) == family), None)
        example = images.family_example(alias, context.kubernetes) if alias else None
        yield Finding(
            at=tag.key_node,
            message=f"images rarely have the tag `{tag.key}`, by which this class finds subnets or security groups",
            covers=[block] if block is not None else (),
            also=[Also(same.key_node, "this term uses the same tag")],
            note="without an image the class never becomes ready",
            help=f"use `alias: {example}` for the published images" if example else None,
        )


_SPECIAL = "aws::"
"""The start of those keys in an AWSNodeTemplate's selector that are no tags."""


def _tag_text(tag: manifest.Label) -> tuple[str, str]:
    """Return a tag's key and value as written, so that a placeholder equals itself."""
    return tag.key_node.unquoted, tag.node.unquoted
