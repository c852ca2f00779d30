r"""An SSM parameter has a path that AWS does not publish: `amd64` for `x86_64`, or no `/image_id` at its end.

EKS and Bottlerocket publish the ids of their images below `/aws/service/`, for `x86_64` and `arm64`. A path with
another name for the architecture finds no parameter. Without `/image_id` the parameter holds several fields or
nothing, but never an image id. The term then finds no image. If the class has no other term, it never becomes ready.

The rule ignores your own parameters, and paths that no typical mistake explains.

```yaml bad frame=class
spec.amiFamily: AL2023
spec.amiSelectorTerms:
  - ssmParameter: /aws/service/eks/optimized-ami/1.33/amazon-linux-2023/amd64/standard/recommended/image_id
```

```yaml bad frame=class
spec.amiFamily: AL2023
spec.amiSelectorTerms:
  - ssmParameter: /aws/service/eks/optimized-ami/1.33/amazon-linux-2023/arm64/standard/recommended
```
"""

import re

from nodelint.api import Context, EC2NodeClass, Finding, Findings, edits, images, messages, rule

ARCHITECTURES = {"amd64": "x86_64", "x86-64": "x86_64", "x64": "x86_64", "aarch64": "arm64"}
"""Other names of architectures, each with the name that paths of published parameters use."""


@rule(
    on=EC2NodeClass,
    group="correctness",
    fix="unsafe",
    releases=">=1.4.0",
    gives_way_to=["invalid-field", "removed-api", "no-image"],
    mentions=["ssmParameter"],
    subject="images",
    source=[
        "https://docs.aws.amazon.com/eks/latest/userguide/retrieve-ami-id.html",
        "https://docs.aws.amazon.com/eks/latest/userguide/retrieve-ami-id-bottlerocket.html",
        "provider:pkg/providers/amifamily/ami.go@v1.14.1:117",
    ],
)
def check(node_class: EC2NodeClass, context: Context) -> Findings:
    for term in node_class.ami_terms:
        node, path = term.node.get("ssmParameter"), term.ssm_parameter
        if node is None or not isinstance(path, str) or not path.startswith("/aws/service/"):
            continue
        meant = _published(path)
        if meant is None or meant == path:
            continue
        last = messages.short("/".join(path.split("/")[-3:]), 50)
        whole = path.endswith("/image_id")
        yield Finding(
            at=node,
            message=f"AWS publishes no SSM parameter `…/{last}`"
            if whole
            else f"`…/{last}` is not the parameter of an image id",
            edits=edits.if_editable(edits.set_value, node, meant),
            note="the term finds no image",
            help=f"AWS publishes `{messages.short(meant, 90)}`",
        )


def _published(path: str) -> str | None:
    """Return the published parameter path that was probably meant. None if no known mistake leads to one."""
    parts = [ARCHITECTURES.get(part.lower(), part) for part in path.rstrip("/").split("/")]
    if re.fullmatch(r"recommended|latest", parts[-1]):
        parts.append("image_id")
    meant = "/".join(parts)
    return meant if images.parameter_matches(meant) and parts[-1] == "image_id" else None
