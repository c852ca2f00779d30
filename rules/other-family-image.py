r"""The image belongs to another family than `amiFamily`, so nodes do not join.

`amiFamily` decides which user data a node gets: a NodeConfig for AL2023, settings for Bottlerocket, a bootstrap
script for AL2. The image must be able to read it. If the terms find an image of another family by its published name
or parameter, or a Windows image for another family, no node joins the cluster.

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
"""

from nodelint.api import Also, Context, EC2NodeClass, Finding, Findings, edits, images, messages, rule


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
    if found.alias is not None or not found.images or not found.complete:
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
