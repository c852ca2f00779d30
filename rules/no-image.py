r"""A class, or a term of its amiSelectorTerms, finds no image in AWS.

If the terms of a class find no image that Karpenter uses, the class never becomes ready, and Karpenter launches
nothing for its NodePools. This is an error. The finding says what the terms do find: images that are pending,
disabled, of an architecture that Karpenter does not launch, or deprecated in a release that ignores deprecated
images. If other terms find an image, a term that finds none is a warning.

nodelint searches an id in the region and account of the facts. It searches a name among your own images and Amazon's,
unless the term names another `owner`. A tag matches only if key and value match exactly. Only the account that sets
the tags of an image can see them.

There is no fix if images are missing or not yet available: somebody must build them, or another account must share
them.

```yaml facts
images:
  - {id: ami-0a1, name: golden-al2023-41, tags: {team: platform}}
  - {id: ami-0a2, name: nightly-1, created: 2026-11-20, state: pending}
```

```yaml bad frame=class
spec.amiFamily: AL2023
spec.amiSelectorTerms:
  - name: golden-al2-*
```

```yaml good frame=bad
spec.amiSelectorTerms:
  - name: golden-al2023-*
```

```yaml bad frame=class
spec.amiFamily: AL2023
spec.amiSelectorTerms:
  - tags: {team: platform}
  - id: ami-0a9
```

```yaml good frame=bad
spec.amiSelectorTerms:
  - tags: {team: platform}
  - id: ami-0a1
```

```yaml bad frame=class
spec.amiFamily: AL2023
spec.amiSelectorTerms: [{name: "nightly-*"}]
```

```yaml good frame=bad
spec.amiSelectorTerms: [{name: "golden-*"}]
```
"""

from nodelint.api import Also, Context, EC2NodeClass, Finding, Findings, images, messages, questions, rule, selectors

ON_THE_WAY = ("pending", "transient")


@rule(
    on=EC2NodeClass,
    group="correctness",
    needs=("images",),
    subject="images",
    source=[
        "provider:pkg/controllers/nodeclass/ami.go@v1.14.1:51",
        "provider:pkg/providers/amifamily/ami.go@v1.14.1:173",
    ],
    tags=["release-dependent", "controller"],
)
def check(node_class: EC2NodeClass, context: Context) -> Findings:
    selectors.check_region(context.pools(node_class), context.facts, "images")
    image_set = context.images(node_class)
    for term in image_set.terms:
        yield from term.skips()
    dead = [term for term in image_set.terms if term.missing is None and not term.used and not _outdone(term)]
    if image_set.alias is not None:
        # Where an alias has no parameter at all, unsupported-alias says so.
        dead = [term for term in dead if any(value for _, value in term.parameters)]
    if not dead:
        return
    if not image_set.images and not image_set.problems:
        yield _nothing(node_class, dead, context)
        return
    for term in dead:
        yield Finding(
            at=term.node, message=_describe_term(term, context), severity="warning", help=_hint(term, context)
        )


def _outdone(term: images.TermImages) -> bool:
    """Return whether Karpenter passes over images of the term only because other terms find newer images."""
    return any(passed.by is not None for passed in term.passed)


def _nothing(node_class: EC2NodeClass, dead: list[images.TermImages], context: Context) -> Finding:
    """Return the finding that no term finds an image.

    Its place is the only term, or the list if there are several terms.
    """
    first, *others = dead
    field = node_class.ami_terms_node
    spec = node_class.node.get("spec")
    key = spec.key("amiSelectorTerms") if spec is not None and field is not None else None
    waits = any(passed.image.state in ON_THE_WAY for term in dead for passed in term.passed)
    ready = "the class is not ready until an image is available" if waits else "the class never becomes ready"
    return Finding(
        at=key if others and key is not None else first.node,
        message=_describe_term(first, context)
        if not others
        else f"none of the {len(dead)} terms finds an image that can launch",
        also=[Also(term.node, _describe_term(term, context)) for term in dead] if others else (),
        note=ready,
        help=_hint(first, context),
    )


def _describe_term(term: images.TermImages, context: Context) -> str:
    parameter, value = next(iter(term.parameters), (None, None))
    if term.term is None or term.term.alias:
        if not term.passed:
            example = next((value for _, value in term.parameters if value), "")
            return f"`{_question_text(term)}` resolves to `{example}`, which does not exist"
        parameter = None
    if not term.passed:
        if parameter is None:
            by_id = term.question is not None and term.question.value("image-id") is not None
            return (
                f"the image `{_question_text(term)}` does not exist"
                if by_id
                else f"`{_question_text(term)}` matches no image"
            )
        if value is None:
            return f"the parameter `{messages.short(parameter, 48)}` does not exist"
        named = f"the parameter `{messages.short(parameter, 32)}`"
        if value.startswith("ami-"):
            return f"{named} holds `{messages.short(value, 24)}`, which does not exist"
        # Do not print the value: the author of the manifest chose the parameter, and may not be allowed to read it.
        return f"{named} does not hold an image id"
    seen = term.passed[0]
    image, why = seen.image, _explain_rejection(seen, context)
    if parameter is not None:
        return messages.first_fitting(
            f"the parameter `{messages.short(parameter, 32)}` holds `{image.id}`, which {why}",
            f"the parameter's `{image.id}` {why}",
        )
    if term.question is not None and term.question.value("image-id") is not None:
        return messages.first_fitting(
            f"`{messages.short(image.name, 30)}` ({image.id}) {why}: the term finds nothing to launch",
            f"`{image.id}` {why}: the term finds nothing to launch",
        )
    count = f"{term.total} images, none that can launch" if term.total > 1 else "no image that can launch"
    return messages.first_fitting(
        f"`{_question_text(term)}` finds {count}: `{messages.short(image.name, 30)}` {why}",
        f"it finds {count}: `{image.id}` {why}",
        f"it finds no usable image: `{image.id}` {why}",
    )


def _explain_rejection(passed: images.Passed, context: Context) -> str:
    image = passed.image
    if passed.why == "state":
        return "has failed" if image.state == "failed" else f"is {image.state}"
    if passed.why == "architecture":
        return f"is for {image.arch or 'no architecture'}"
    return f"is deprecated, which Karpenter {context.karpenter} ignores"


def _question_text(term: images.TermImages) -> str:
    if term.question is None:
        return messages.short(term.node.unquoted, 48)
    words = [value if name in ("name", "image-id") else f"{name.removeprefix('tag:')}: {value}"
             for name, value in term.question.filters]  # fmt: skip
    return messages.short(", ".join(words).replace("tag-key: ", ""), 48)


def _hint(term: images.TermImages, context: Context) -> str:
    region = context.facts.region.name if context.facts.region is not None else ""
    if term.passed:
        seen = term.passed[0]
        if seen.why == "state":
            return (
                "wait until it is available, or choose another image"
                if seen.image.state in ON_THE_WAY
                else "choose another image"
            )
        if seen.why == "architecture":
            return "choose an image for amd64 or arm64"
        since = (seen.image.deprecated or "")[:10]
        return f"deprecated since {since}: choose a newer one, or upgrade to Karpenter 1.1.0"
    if any(value is not None and not value.startswith("ami-") for _, value in term.parameters):
        return "use a parameter that holds an image id, `ami-…`"
    owners = term.question.owners if term.question is not None else ()
    if owners == questions.DEFAULT_OWNERS:
        searched = f"nodelint searched your own images and Amazon's in {region}"
        return f"{searched}: set `owner` if another account owns the image"
    if owners:
        return f"nodelint searched only images of the owner {owners[0]} in {region}"
    return f"nodelint searched only {region}"
