r"""An image term accepts images of any owner, because `owner` is missing or is `"*"`.

If a term has no `owner`, Karpenter looks for a name among your own images and Amazon's. If both have the name, it
uses the newer image. It looks for tags among all images that the account can see, including shared and public images
that somebody in your account has tagged (tags of other accounts are not visible). The newest image wins, so its
author decides what your nodes boot.

If the term finds only images of one other account, and they are not public, they are probably intended. The finding
is then information. You decide whether to trust that account.

If your own images are found next to images of another account, the fix sets `owner` to your account. If a name fits
your images and Amazon's, the fix sets the owner of today's image. If Karpenter uses another account's image today,
the fix is unsafe, because it replaces nodes.

```yaml facts
images:
  - {id: ami-0a1, name: golden-al2023-41, created: 2026-11-02, tags: {team: platform}}
  - {id: ami-0f1, name: golden-al2023-99, created: 2026-10-01, owner: "999988887777", tags: {team: platform}}
  - {id: ami-0b1, name: base-7, created: 2026-10-02, tags: {team: base}}
  - {id: ami-0b2, name: base-8, created: 2026-10-03, owner: "999988887777", tags: {team: base}}
```

```yaml bad frame=class
spec.amiFamily: AL2023
spec.amiSelectorTerms:
  - tags:
      team: platform
```

```yaml bad frame=class
spec.amiFamily: AL2023
spec.amiSelectorTerms: [{tags: {team: base}}]
```

The owner `*` accepts every account, so anyone can publish an image that your nodes boot.

Image names are not unique, and anyone can make an image public. Set `owner` to an account id, `self` or `amazon`.

```yaml bad frame=class
spec.amiFamily: AL2023
spec.amiSelectorTerms:
  - name: golden-al2023-*
    owner: "*"
```

```yaml good frame=bad
spec.amiSelectorTerms:
  - name: golden-al2023-*
    owner: "self"
```

The strict profile also reports an image that is selected by name without an `owner`.

Karpenter then uses images of your account and of Amazon. If the name also fits a public image of Amazon, nodes get
that image as soon as it is newer. This part reports terms with a name. A term with tags but no name is judged by the
images that it finds (see above). Set `owner` to `self`, an account id, or an alias such as `amazon`.

```yaml bad frame=class
spec.amiFamily: AL2023
spec.amiSelectorTerms:
  - name: golden-al2023-*
```

```yaml good frame=bad
spec.amiSelectorTerms:
  - name: golden-al2023-*
    owner: self
```
"""

from collections.abc import Sequence

from nodelint.api import (
    Also,
    Context,
    EC2NodeClass,
    Finding,
    Findings,
    RuleCheck,
    edits,
    images,
    messages,
    questions,
    rule,
    run_checks,
    selectors,
    snapshot,
)


@rule(
    on=EC2NodeClass,
    group="hazard",
    fix="safe",
    gives_way_to=["removed-api", "no-image", "image-discovery-tag", "refused-combination"],
    may_need=("images",),
    renamed=("foreign-image", "any-owner", "image-without-owner"),
    subject="images",
    source=[
        "provider:pkg/providers/amifamily/ami.go@v1.14.1:139",
        "https://karpenter.sh/docs/concepts/nodeclasses/",
    ],
    cel=(
        "!has(object.spec.amiSelectorTerms) || object.spec.amiSelectorTerms.all(t, !has(t.owner) || "
        "!t.owner.contains('*'))"
    ),
)
def check(node_class: EC2NodeClass, context: Context) -> Findings:
    yield from run_checks(
        node_class,
        context,
        RuleCheck(_check_found, needs_facts=True),
        RuleCheck(_check_any),
        RuleCheck(_check_absent, severity="info", strict=True),
    )


PUBLISHED = ("amazon-eks-", "bottlerocket-aws-k8s-", "Windows_Server-")
"""The starts of the names of images that Amazon publishes for EKS."""

GONE = ("disabled", "deregistered")


def _check_found(node_class: EC2NodeClass, context: Context) -> Findings:
    selectors.check_region(context.pools(node_class), context.facts, "images")
    for term in context.images(node_class).terms:
        by_id = term.question is not None and term.question.value("image-id") is not None
        if term.term is None or term.question is None or by_id or term.term.owner:
            continue
        yield from term.skips()
        image_set = [image for image in term.images if image.arch in images.ARCHITECTURES and image.state not in GONE]
        strangers = _strangers(image_set)
        if strangers:
            # What Karpenter takes is what matters.
            yield _finding(term, image_set, sorted(strangers, key=lambda image: image not in term.used))


def _strangers(image_set: Sequence[snapshot.MachineImage]) -> list[snapshot.MachineImage]:
    """Return the images that belong neither to the own account nor to Amazon.

    If the term also finds own images, own images are meant: those of Amazon are then returned as well.
    """
    found = [image for image in image_set if image.owner not in questions.DEFAULT_OWNERS]
    if any(image.owner == "self" for image in image_set):
        found += [image for image in image_set if image.owner == "amazon"]
    return found


def _finding(
    term: images.TermImages, image_set: Sequence[snapshot.MachineImage], strangers: Sequence[snapshot.MachineImage]
) -> Finding:
    first, taken = strangers[0], strangers[0] in term.used
    own = sorted((image for image in image_set if image not in strangers), key=lambda image: image not in term.used)
    owner = _owner(term, image_set)
    whole = all(image.owner == first.owner and not image.public for image in image_set)
    verb = "selects" if taken else "also finds"
    whose = "Amazon" if first.owner == "amazon" else f"account {first.owner}"
    assert term.term is not None
    return Finding(
        at=term.node,
        message=messages.first_fitting(
            f"without `owner` the term {verb} `{messages.short(first.name, 40)}` ({first.id}) of {whose}",
            f"without `owner` the term {verb} `{first.id}` of {whose}",
        ),
        # Shared with this account, tagged by it, and nothing else is: that is hardly a slip.
        severity="info" if whole else None,
        edits=edits.if_editable(edits.add_key, term.term.node, "owner", owner) if owner is not None else (),
        safety="unsafe" if any(image.owner != owner for image in term.used) else None,
        covers=(term.term.node,),
        also=[Also(term.node, _describe_image(image, image in term.used)) for image in (*strangers[:3], *own[:2])],
        note="Karpenter uses the newest image that matches, whoever owns it",
        help=_hint(first, owner),
    )


def _hint(first: snapshot.MachineImage, owner: str | None) -> str | None:
    if first.owner == "amazon":
        return None
    return None if owner is not None else f'set the owner that you mean: `owner: self` or `owner: "{first.owner}"`'


def _owner(term: images.TermImages, image_set: Sequence[snapshot.MachineImage]) -> str | None:
    """Return the owner to write into the term. None if the owner is a guess, or has no available image."""
    ready = {image.owner for image in image_set if image.state == "available"}
    others = {image.owner for image in image_set} - set(questions.DEFAULT_OWNERS)
    meant = {"self"} if others and "self" in ready else {image.owner for image in term.used}
    return meant.pop() if len(meant) == 1 and meant <= ready - others else None


def _describe_image(image: snapshot.MachineImage, taken: bool) -> str:
    words = [
        image.created[:10],
        *([image.state] if image.state != "available" else []),
        *(["used by Karpenter"] if taken else []),
    ]
    return f"`{image.name}` ({image.id}) of {image.owner}, {', '.join(words)}"


def _check_any(node_class: EC2NodeClass, context: Context) -> Findings:
    for term in node_class.ami_terms:
        node = term.node.get("owner")
        if node is not None and isinstance(term.owner, str) and "*" in term.owner:
            yield Finding(
                at=node,
                message=f"owner `{term.owner[:20]}` is not an account: use an account ID, or a name such as `amazon`",
                help="set the account that publishes the image: `self`, `amazon` or an account ID",
            )


def _check_absent(node_class: EC2NodeClass, context: Context) -> Findings:
    for term in node_class.ami_terms:
        node = term.node.get("name")
        # A tag needs no owner: the account sees its own tags only. Who looks by id has chosen the image.
        if node is None or term.node.get("owner") is not None or term.node.get("id") is not None:
            continue
        name = f" `{messages.short(term.name, 24)}`" if isinstance(term.name, str) else ""
        published = isinstance(term.name, str) and term.name.startswith(PUBLISHED)
        yield Finding(
            at=term.node.key("name") or node,
            message=f"without `owner`, the name{name} matches images of your account and of Amazon",
            help="add `owner: amazon`: Amazon publishes images with such names"
            if published
            else "add `owner: self`, or the id of the account that builds the image",
        )
