r"""An image term names one Kubernetes version, so its nodes do not follow the version of the cluster.

The name or parameter of a published image contains its Kubernetes version. After an upgrade of the cluster, a pinned
image stays at the old version. The kubelet may be at most three minor versions older than the API server, and never
newer. An alias follows the cluster.

The rule reports a mismatch if the cluster's version is known (`--kubernetes-version`, or a file of the repository).
If it is not known, the image shows the lowest version that the cluster can have. If files state a release of
Karpenter that does not support this version, the rule reports it.

```yaml bad frame=class kubernetes=1.33
spec.amiFamily: AL2023
spec.amiSelectorTerms:
  - name: amazon-eks-node-al2023-x86_64-standard-1.30-*
```

```yaml good frame=bad kubernetes=1.33
spec.amiSelectorTerms:
  - name: amazon-eks-node-al2023-x86_64-standard-1.33-*
```

If the image fits the cluster today, or the cluster's version is not known, only the strict profile reports it. It
does not if the name or parameter gets its version from the variable or local that sets the version of the cluster.

With an alias, Karpenter finds the images of the new version after an upgrade and replaces the nodes, within the
budgets. With a version in a name or parameter, you must change it by hand.

```yaml bad frame=class
spec.amiSelectorTerms:
  - ssmParameter: /aws/service/bottlerocket/aws-k8s-1.33/x86_64/1.46.0/image_id
```

```yaml good frame=bad
spec.amiSelectorTerms:
  - alias: bottlerocket@v1.46.0
```
"""

import re
from collections.abc import Iterator

from nodelint.api import Context, EC2NodeClass, Finding, Findings, Node, RuleCheck, Span, releases, rule, run_checks


@rule(
    on=EC2NodeClass,
    group="hazard",
    gives_way_to=["removed-api", "unsupported-alias", "no-image"],
    renamed=("image-of-another-kubernetes", "image-of-one-kubernetes"),
    subject="images",
    source=[
        "https://kubernetes.io/releases/version-skew-policy/",
        "https://karpenter.sh/docs/tasks/managing-amis/",
        "https://karpenter.sh/docs/upgrading/compatibility/",
    ],
)
def check(node_class: EC2NodeClass, context: Context) -> Findings:
    yield from run_checks(
        node_class,
        context,
        RuleCheck(_check_other),
        RuleCheck(_check_release),
        RuleCheck(_check_pinned, severity="info", strict=True),
    )


# A literal version between the signs that published names and parameters have around it.
VERSION = r"(?:^|[-_/])(1\.[0-9]{2})(?=[-_/]|$)"


def _check_other(node_class: EC2NodeClass, context: Context) -> Findings:
    cluster = context.kubernetes
    if cluster is None:
        return
    # A name that fits several architectures gives an image for each.
    for image in {id(other_image.at): other_image for other_image in context.images(node_class).images}.values():
        name = image.name or image.parameter
        found = re.search(VERSION, name) if name is not None and image.family is not None else None
        if name is None or found is None:
            continue
        minor = int(found[1].partition(".")[2])
        behind = cluster.minor - minor
        if behind == 0:
            continue
        refused = behind < 0 or behind > 3
        yield Finding(
            at=image.at,
            message=f"the image is for Kubernetes {found[1]}, but the cluster runs {cluster}",
            severity="error" if refused else None,
            note="a kubelet must not be newer than the API server, nor more than three minor versions older"
            if refused
            else None,
            help=f"use `{name.replace(found[1], str(cluster))}`, or an alias, which follows the Kubernetes version",
        )


def _check_release(node_class: EC2NodeClass, context: Context) -> Findings:
    """Yield a finding for an image whose Kubernetes version the stated Karpenter release does not support.

    The kubelet of an image must not be newer than the API server.
    """
    chosen = context.chosen
    if context.kubernetes is not None or chosen is None or not chosen.is_stated:
        return
    supported = releases.supported(context.karpenter).most
    for node, found in _terms(node_class):
        if int(found) > supported.minor:
            fitting = [r for r in releases.RELEASES if releases.supported(r).most.minor >= int(found)]
            yield Finding(
                at=node,
                message=f"the image is for Kubernetes 1.{found}, but Karpenter {context.karpenter} supports none "
                "above "
                f"{supported}",
                note="the cluster is at least this version, because a kubelet must not be newer than the API server",
                help=f"upgrade Karpenter to {fitting[0]} or newer" if fitting else None,
            )


# `1.33` of published names, or `1-33` where the name speaks of Kubernetes.
VERSION_PINNED = r"(?:^|[-_/])1\.([0-9]{2})(?=[-_/*]|$)"
DASHED = r"(?i)(?=.*(?:eks|k8s|kube))(?:.*[-_/])?1-([0-9]{2})(?=[-_/*]|$)"


def _check_pinned(node_class: EC2NodeClass, context: Context) -> Findings:
    for node, found in _terms(node_class, context):
        yield Finding(
            at=node,
            message=f"the image is for Kubernetes 1.{found} only: nodes keep this version when the cluster is "
            "upgraded",
            help="use an alias, which follows the Kubernetes version, or change the version with each upgrade",
        )


def _follows_cluster(node: Node, version: str, context: Context) -> bool:
    """Return whether the version in a rendered value is filled in from the line that states the cluster's version."""
    stated = context.chosen.kubernetes_from if context.chosen is not None else None
    built, start = node.source.built, node.text.find(version)
    if stated is None or built is None or start < 0:
        return False
    start += node.start
    origin = built.find_origin(Span(node.source, start, start + len(version)))
    if origin is None:
        return False
    at = origin.at.source
    if not origin.exact:  # a string of Terraform in which other values are filled in
        written = at.text[origin.at.start : origin.at.end]
        name = re.split(r"[ .]", stated.by)[-1]
        return name in re.findall(r"\$\{\s*(?:var|local)\.([\w-]+)\s*\}", written)
    line = at.text.count("\n", 0, origin.at.start) + 1
    return (at.path, line) == (stated.path, stated.line)


def _terms(node_class: EC2NodeClass, context: Context | None = None) -> Iterator[tuple[Node, str]]:
    """Yield the names and parameters of terms with the minor version of Kubernetes in them, each version once.

    With a context, those that follow the cluster's version are left out.
    """
    reported = set()
    for term in node_class.ami_terms:
        for field in ("name", "ssmParameter"):
            node = term.node.get(field)
            found = _version(node.value) if node is not None and isinstance(node.value, str) else None
            if node is None or found is None or found in reported:
                continue
            if context is None or not _follows_cluster(node, f"1.{found}", context):
                reported.add(found)
                yield node, found


def _version(text: str) -> str | None:
    found = re.search(VERSION_PINNED, text) or re.match(DASHED, text)
    return found[1] if found else None
