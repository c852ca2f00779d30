r"""A selector can find an image that is pending or failed, and the target release uses such an image.

When a pipeline registers a new image, the image is `pending` for some minutes. Karpenter before 1.2.2 does not filter
by state. If the pending image is the newest match, nodes drift at once, but no replacement can launch from it. A
failed image stays the newest match forever. 1.2.2 and 1.3.0 fix this; 1.1 and older never get the fix.

Upgrade Karpenter. Until then, let the pipeline set a second tag when the image is available or tested. The fix adds
such a tag to the term. It is unsafe, because no image may have the tag yet. If `owner` is an account id, there is no
fix: tags of another account are not visible. The rule does not report ids and aliases: an id always means the same
image, and AWS publishes an image of an alias only when it is available.

With facts from AWS (`nodelint refresh`), the finding names the image. If Karpenter uses it, the finding is an
error, also for an id. The fix pins the newest available image: running nodes use it already or drift to it anyway.
If Karpenter skips the image, the severity is info: the finding says whether nodes are replaced later, keep an older
image, or get no image for their architecture. The fix adds no tag to a term that is known to find images, because
they may lack it.

```yaml bad frame=class karpenter=1.2.1
spec.amiFamily: AL2023
spec.amiSelectorTerms:
  - tags:
      team: platform # set when the build starts
      os: al2023
```

```yaml bad frame=class karpenter=1.1.5
spec.amiFamily: AL2023
spec.amiSelectorTerms: [{name: 'golden-al2023-*', owner: self}]
```

```yaml facts
images:
  - {id: ami-0a1, name: golden-al2023-41, created: 2026-11-01}
  - {id: ami-0a2, name: golden-al2023-42, created: 2026-11-20, state: pending}
  - {id: ami-0b1, name: base-arm64-7, arch: arm64, created: 2026-10-03, tags: {team: platform}}
  - {id: ami-0b2, name: base-arm64-8, arch: arm64, created: 2026-10-04, state: failed, tags: {team: platform}}
  - {id: ami-0c1, name: base-amd64-7, created: 2026-10-03, tags: {team: platform}}
```

```yaml bad frame=class karpenter=1.1.0
spec.amiFamily: AL2023
spec.amiSelectorTerms:
  - name: golden-al2023-* # the nightly build
    owner: self
```

```yaml bad frame=class karpenter=1.1.0
spec.amiFamily: AL2023
spec.amiSelectorTerms:
  - tags: {team: platform}
```
"""

import re
from collections.abc import Iterator

from nodelint.api import (
    UNKNOWN,
    Also,
    Context,
    EC2NodeClass,
    Edit,
    Finding,
    Findings,
    Node,
    edits,
    fixes,
    images,
    labels,
    manifest,
    messages,
    questions,
    releases,
    rule,
    selectors,
    snapshot,
)

DEFECT = "pending-images"
SECOND_TAG = "image-verified"
ON_THE_WAY = ("pending", "transient")
GONE = ("disabled", "deregistered")


@rule(
    on=EC2NodeClass,
    group="hazard",
    fix="unsafe",
    gives_way_to=["image-discovery-tag"],
    subject="images",
    source=[
        "provider:pkg/providers/amifamily/ami.go@v1.14.1:173",
        "provider:pkg/providers/amifamily/types.go@v1.14.1:48",
    ],
)
def check(node_class: EC2NodeClass, context: Context) -> Findings:
    terms: tuple[images.TermImages, ...] = ()
    if selectors.elsewhere(context.pools(node_class), context.facts) is None:
        terms = context.images(node_class).terms
    reported: list[snapshot.MachineImage] = []
    for finds in terms:
        yield from _unready(finds, terms, reported, context)
    if not releases.has_defect(DEFECT, context.karpenter):
        return
    release = releases.fixed_for(DEFECT, context.karpenter)
    # Which tags an image has is not known; where images are found, a tag that none may have would shut all out.
    seen = [finds.term for finds in terms if finds.images]
    judged = [finds.term for finds in terms if any(image in finds.images for image in reported)]
    for term in node_class.ami_terms:
        found = _selector(term)
        if found is not None and term not in judged:
            at, what = found
            yield Finding(
                at=at,
                message=f"before Karpenter {release}, {what} can select an image that is still pending",
                edits=edits.if_editable(_second_tag, term) if term not in seen and not _of_an_account(term) else (),
                help=f"upgrade to Karpenter {release}, or add a tag that you set once the image is available",
            )


def _unready(
    term: images.TermImages,
    terms: tuple[images.TermImages, ...],
    reported: list[snapshot.MachineImage],
    context: Context,
) -> Iterator[Finding]:
    """Yield a finding for each newest image of a selector term whose EC2 state is not `available` (pending, failed).

    An image that several terms find is reported once.
    """
    taken = [image for image in term.used if image.state != "available"]
    new = [image for image in taken if image not in reported]
    if new:
        others = [
            other_term
            for other_term in terms
            if other_term is not term and any(image in other_term.used for image in taken)
        ]
        yield _taken(term, new, others, context)
        reported += new
    if taken or releases.has_defect(DEFECT, context.karpenter):
        return
    for arch in images.ARCHITECTURES:
        found = [image for image in term.images if image.arch == arch and image.state not in GONE]
        other = max(found, key=lambda image: (image.created, image.name), default=None)
        if other is None or other.state == "available" or other in reported or _of_a_stranger(other, term):
            continue
        instead = next((image for image in term.used if image.arch == arch), None)
        if instead is None and not _leaves_none(arch, term, terms):
            continue
        yield _passed_over(term, other, instead)
        reported.append(other)


def _leaves_none(arch: str, term: images.TermImages, terms: tuple[images.TermImages, ...]) -> bool:
    """Return whether no term of the class finds a usable image of an architecture.

    False if the term itself finds no image, which no-image reports, or the images of a term are not known.
    """
    known = all(other_term.missing is None for other_term in terms)
    return (
        known and bool(term.used) and not any(image.arch == arch for other_term in terms for image in other_term.used)
    )


def _passed_over(
    term: images.TermImages, image: snapshot.MachineImage, instead: snapshot.MachineImage | None
) -> Finding:
    waits = image.state in ON_THE_WAY
    if instead is None:
        then, brief = (f"no {image.arch} image is found" + (" until it is available" if waits else ""),) * 2
    else:
        until = "until it is available" if waits else "instead"
        then, brief = f"`{messages.short(instead.name, 28)}` is used {until}", f"`{instead.id}` is used {until}"
    return Finding(
        at=term.node,
        message=messages.first_fitting(
            f"`{messages.short(image.name, 28)}` ({image.id}) {_say_state(image)}: {then}",
            f"`{image.id}` {_say_state(image)}: {brief}",
        ),
        severity="info",
        also=[Also(term.node, _describe_image(candidate)) for candidate in (image, instead) if candidate is not None],
    )


def _taken(
    term: images.TermImages, taken: list[snapshot.MachineImage], others: list[images.TermImages], context: Context
) -> Finding:
    # Pinning this term does not exclude an image that another term finds as well.
    good = fixes.pinnable(term, context.karpenter, context.facts.now)
    first, release = taken[0], releases.fixed_for(DEFECT, context.karpenter)
    state = _say_state(first)
    way = f"pin an available image, or upgrade to {release}" if good else "choose an available image"
    return Finding(
        at=term.node,
        message=messages.first_fitting(
            f"`{messages.short(first.name, 36)}` ({first.id}) {state}: Karpenter {context.karpenter} uses it",
            f"`{first.id}` {state}: Karpenter {context.karpenter} uses it",
        ),
        severity="error",
        edits=edits.if_editable(fixes.pin, term, good) if not others else (),
        safety="safe",
        also=[
            *(Also(term.node, _describe_image(image)) for image in (*taken, *good)),
            *(Also(other.node, "also matches it") for other in others),
        ],
        note="Karpenter replaces nodes to move to this image, but no node can "
        + ("ever start from it" if first.state == "failed" else "start from it yet"),
        help=way,
    )


def _of_a_stranger(image: snapshot.MachineImage, term: images.TermImages) -> bool:
    """Return whether untrusted-image-owner reports the image: the term selects only by tags, and the image is of
    another account.
    """
    by_id = term.question is not None and term.question.value("image-id") is not None
    named = term.term is None or term.term.owner is not None or by_id
    return not named and image.owner not in questions.DEFAULT_OWNERS


def _say_state(image: snapshot.MachineImage) -> str:
    return "has failed" if image.state == "failed" else f"is {image.state}"


def _describe_image(image: snapshot.MachineImage) -> str:
    return f"{image.state}: `{image.name}` ({image.id}), {image.arch}, of {image.created[:10]}"


def _selector(term: manifest.SelectorTerm) -> tuple[Node, str] | None:
    """Return the node of the name or the tags by which a term selects, and words for these.

    None if a tag shows that the image is ready, or the images are AWS's own.
    """
    if term.alias is not None or term.id is not None or term.ssm_parameter is not None:
        return None
    tags = term.node.get("tags")
    if term.owner == "amazon" or term.owner is UNKNOWN or (tags is not None and tags.value is UNKNOWN):
        return None
    if any(not isinstance(tag.key, str) or labels.means_ready(tag.key) for tag in term.tags):
        return None
    if term.name:
        node = term.node.get("name")
        if (
            node is None
            or not isinstance(term.name, str)
            or (term.owner != "self" and images.name_matches(term.name))
        ):
            return None
        # A whole name is one image's, which is pending once at most.
        if not re.search(r"[*?]", term.name):
            return None
        return node, f"the name `{messages.short(term.name, 30)}`"
    node = term.node.key("tags")
    if node is None or not term.tags:
        return None
    first = messages.short(str(term.tags[0].key), 24)
    return node, f"the tag `{first}`" if len(term.tags) == 1 else f"`{first}` and other tags"


def _of_an_account(term: manifest.SelectorTerm) -> bool:
    """Return whether a term names the owner by an account ID.

    Nodes of this account cannot see the tags of another account's images.
    """
    return isinstance(term.owner, str) and term.owner.isdigit()


def _second_tag(term: manifest.SelectorTerm) -> list[Edit]:
    tags = term.node.get("tags")
    if tags is not None and tags.kind == "mapping":
        return edits.add_key(tags, SECOND_TAG, "true")
    return edits.add_key(term.node, "tags", {SECOND_TAG: "true"})
