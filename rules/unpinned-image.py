r"""A class uses the newest image that matches, so Karpenter replaces nodes whenever a new one is published.

`@latest`, a name with wildcards, tags, and a `recommended` SSM parameter select another image as soon as AWS or your
pipeline publishes one. All nodes of the old image are then drifted, and Karpenter replaces them within the pool's
disruption budgets, in every cluster at once. Many teams want that. If you test images in one environment before the
next, pin a version and change it with a merge. The rule does not report `al2@latest`, because no new image of it is
published.

With facts from AWS (`nodelint refresh`) the fix pins today's image, which replaces no node. For an alias, the
Kubernetes version must be known as well. Without facts, the finding suggests the newest version that nodelint knows.
Nodes may run a newer one.

```yaml facts
parameters:
  /aws/service/bottlerocket/aws-k8s-1.33/x86_64/latest/image_id: ami-0a1
  /aws/service/bottlerocket/aws-k8s-1.33/x86_64/1.50.0/image_id: ami-0a1
images:
  - {id: ami-0a1, name: bottlerocket-aws-k8s-1.33-x86_64-v1.50.0-5d2f1c3a, owner: amazon}
  - {id: ami-0b1, name: golden-bottlerocket-41, created: 2026-10-01, tags: {pipeline: golden}}
  - {id: ami-0b2, name: golden-bottlerocket-42, created: 2026-11-01, tags: {pipeline: golden}}
```

```yaml bad frame=class kubernetes=1.33
spec.amiSelectorTerms:
  - alias: bottlerocket@latest
```

```yaml bad frame=class
spec.amiFamily: Bottlerocket
spec.amiSelectorTerms: [{name: "golden-bottlerocket-*", owner: "self"}]
```

```yaml bad frame=class
spec.amiFamily: Bottlerocket
spec.amiSelectorTerms:
  - tags: {pipeline: golden}
```
"""

import re
from collections.abc import Iterator

from nodelint.api import (
    UNKNOWN,
    Context,
    EC2NodeClass,
    Edit,
    Finding,
    Findings,
    Suggestion,
    edits,
    fixes,
    images,
    messages,
    questions,
    rule,
)


@rule(
    on=EC2NodeClass,
    group="practice",
    severity="info",
    fix="safe",
    gives_way_to=["unsupported-alias", "ended-family", "image-of-any-kubernetes"],
    subject="images",
    source=[
        "https://karpenter.sh/docs/tasks/managing-amis/",
        "provider:pkg/cloudprovider/drift.go@v1.14.1:49",
    ],
    cel=(
        "!has(object.spec.amiSelectorTerms) || object.spec.amiSelectorTerms.all(t, has(t.alias) ? "
        "!t.alias.endsWith('@latest') || t.alias.startsWith('windows') : has(t.name) ? "
        "!t.name.matches('[*?]') : has(t.ssmParameter) ? "
        "!t.ssmParameter.matches('/(recommended|latest|current)(/|$)') : !has(t.tags) || has(t.id))"
    ),
)
def check(node_class: EC2NodeClass, context: Context) -> Findings:
    image_set = context.images(node_class)
    alias, node = image_set.alias, image_set.alias_node
    if alias is None:
        yield from _of_placeholders(node_class)
        yield from _of_terms(node_class, image_set)
        return
    if node is None or alias.version != "latest" or alias.family not in images.families() or node.value is UNKNOWN:
        return
    example = images.family_example(alias.family, context.kubernetes)
    if example.endswith("@latest"):
        return  # the Windows aliases have no other version
    version = questions.latest_version(alias.family, context.karpenter, context.kubernetes, context.facts)
    yield Finding(
        at=node,
        message=f"`{alias.family}@latest` replaces nodes whenever an image is published",
        once=True,
        edits=edits.if_editable(_pinned, image_set, version),
        help=f"pin the version of today, `{alias.family}@{version}`"
        if version
        else f"pin a version that you have tested, such as `{example}`"
        if context.kubernetes is None or images.newest_known(alias.family, context.kubernetes)
        else "pin the version that runs today: `status.amis` of the EC2NodeClass names the image",
        suggestions=_known(image_set, context) if version is None else (),
    )


def _known(image_set: images.ImageSet, context: Context) -> list[Suggestion]:
    """Return a suggestion to pin the newest version that nodelint's data contains.

    Empty if the alias cannot be edited.
    """
    family = image_set.alias.family if image_set.alias is not None else ""
    newest = images.newest_known(family, context.kubernetes)
    changes = edits.if_editable(_pinned, image_set, newest)
    known = images.provenance()[1]
    return [Suggestion(f"pin {family}@{newest}, the newest version known on {known}", changes)] if changes else []


def _pinned(image_set: images.ImageSet, version: str | None) -> list[Edit]:
    return (
        fixes.set_alias(image_set, image_set.alias.family, version) if image_set.alias is not None and version else []
    )


def _of_placeholders(node_class: EC2NodeClass) -> Iterator[Finding]:
    """Yield a finding for an alias with a placeholder as its family and `latest` as its version: `{{ .Values.family
    }}@latest`.
    """
    for term in node_class.ami_terms:
        node = term.node.get("alias")
        if node is not None and node.value is UNKNOWN and re.search(r"[})]@latest[\"']?$", node.unquoted.strip()):
            yield Finding(
                at=node,
                message="`@latest` replaces nodes whenever an image is published",
                help="let the template fill in the version as well, and pin it",
            )


def _of_terms(node_class: EC2NodeClass, image_set: images.ImageSet) -> Iterator[Finding]:
    for term in node_class.ami_terms:
        name, parameter = term.node.get("name"), term.node.get("ssmParameter")
        # With facts the term is pinned to what Karpenter takes by it, where that is to be launched.
        finds = next((found_term for found_term in image_set.terms if found_term.term is term), None)
        used = finds.used if finds is not None and all(i.state == "available" for i in finds.used) else ()
        changes = edits.if_editable(fixes.pin, finds, used) if finds is not None and used else []
        if name is not None and isinstance(term.name, str) and re.search(r"[*?]", term.name):
            message = (
                f"`{messages.short(term.name)}` replaces nodes whenever a newer image of that name is registered"
            )
            yield Finding(
                at=name, message=message, edits=changes, help="write the full name of one image, or select it by id"
            )
        elif (
            parameter is not None
            and isinstance(term.ssm_parameter, str)
            and re.search(r"/(recommended|latest|current)(/|$)", term.ssm_parameter)
        ):
            message = f"`{messages.short(term.ssm_parameter)}` replaces nodes whenever an image is published"
            yield Finding(at=parameter, message=message, edits=changes, help="use the parameter of one version")
        elif (tags := term.node.get("tags")) is not None and term.node.get("id") is None and name is None:
            message = "these tags replace nodes whenever a newer image that has them is registered"
            yield Finding(
                at=fixes.key_of(tags), message=message, edits=changes, help="select one image by its full name or id"
            )
