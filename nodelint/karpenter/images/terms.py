"""The images of a class that selects them by id, name, tags or SSM parameter, not by alias.

With AWS facts they are the images in EC2. Without, a published name or parameter identifies its images, and the
others are unknown.
"""

from __future__ import annotations

from collections.abc import Iterable

from nodelint.base.tuples import NamedTuple
from nodelint.ec2.facts import AwsFacts, Missing
from nodelint.ec2.questions import id_question, image_question
from nodelint.karpenter.images.choice import Candidate, choose, in_order, passed_over, why_unseen
from nodelint.karpenter.images.families import of_arch
from nodelint.karpenter.images.names import Match, name_matches, parameter_matches
from nodelint.karpenter.images.records import Image, ImageProblem, ImageSet, TermImages, unknown_fact
from nodelint.model.manifest_terms import SelectorTerm
from nodelint.model.messages import short
from nodelint.model.releases import Version, behaves
from nodelint.text import UNKNOWN, Node


class _Read(NamedTuple):
    """An AMI selector term: how it selects images, and the images that it is known to find, or the `reason` why these
    are not known.

    `open` is true if a placeholder makes the look-up in AWS impossible.
    """

    term: SelectorTerm
    image: Image
    images: tuple[Image, ...] = ()
    reason: str | None = None
    open: bool = False


def of_terms(
    field: Node, terms: tuple[SelectorTerm, ...], release: Version, facts: AwsFacts, ami_family: str | None
) -> ImageSet:
    filled_in_later = [item for item in field.items if item.kind == "scalar" and item.value is UNKNOWN]
    unknown = [unknown_fact(item, "an image term is a placeholder") for item in filled_in_later]
    rest = [Image(item, None) for item in filled_in_later]
    problems: list[ImageProblem] = []
    found: list[tuple[_Read, TermImages]] = []
    for term in terms:
        if term.ssm_parameter is not None and not behaves("ssm-parameter-terms", release):
            node = term.node.get("ssmParameter") or term.node
            message = "`ssmParameter` came with Karpenter 1.4.0"
            problems.append(ImageProblem("release", node, message, since=Version(1, 4, 0)))
            continue
        read = _read(term)
        if read.open:
            rest += read.images or (read.image,)
            if read.reason is not None:
                unknown.append(unknown_fact(read.image.at, read.reason))
            continue
        finds = _find(read, facts)
        found.append((read, finds))
        if finds.missing is not None:
            rest += read.images or (read.image,)
            if read.reason is not None:
                why = finds.missing.reason if facts else read.reason
                unknown.append(unknown_fact(read.image.at, why, finds.missing))
    images, found = _chosen(found, release, facts)
    return ImageSet(
        (*images, *rest),
        tuple(unknown),
        tuple(problems),
        tuple(_several(rest)),
        ami_family,
        terms=tuple(finds for _, finds in found),
    )


def _several(images: Iterable[Image]) -> Iterable[tuple[Node, str]]:
    """Yield the node and a note for each architecture for which only AWS knows which of several images is used."""
    for arch in ("amd64", "arm64"):
        same = [image for image in images if image.arch == arch]
        if len({id(image.at) for image in same}) > 1:
            yield same[1].at, f"several terms find {arch} images: Karpenter uses the newest"
        elif same and len(same[0].variants) > 1 and same[0].family is None:
            variants = ", ".join(same[0].variants)
            yield same[0].at, f"the name fits {arch} images of several kinds ({variants}); the newest wins"


def _find(read: _Read, facts: AwsFacts) -> TermImages:
    """Return the images that a term without alias finds in EC2. A custom SSM parameter that does not exist, or that
    holds no image id, finds none.
    """
    term, node = read.term, read.image.at
    question = image_question(term)
    parameters: tuple[tuple[str, str | None], ...] = ()
    try:
        if question is None and read.image.parameter is not None:
            id = facts.parameter(read.image.parameter)
            parameters = ((read.image.parameter, id),)
            question = id_question(id) if id is not None and id.startswith("ami-") else None
        if question is None:
            return TermImages(term, node, None, parameters)
        found = facts.images(question)
    except Missing as missing:
        return TermImages(term, node, question, parameters, missing=missing)
    return TermImages(term, node, question, parameters, found.images, found.total)


def _chosen(
    found: list[tuple[_Read, TermImages]], release: Version, facts: AwsFacts
) -> tuple[list[Image], list[tuple[_Read, TermImages]]]:
    """Return the images that the controller uses, one for each architecture of all terms together, and the terms with
    their used images.
    """
    by_id = {image.id: (read, image) for read, finds in reversed(found) for image in finds.images}
    candidates = [
        Candidate(image, of_arch(image.arch))
        for _, image in by_id.values()
        if why_unseen(image, release, facts.now) is None
    ]
    taken = in_order(candidate.image for candidate in choose(candidates, release, facts.now))
    images = []
    for image in taken:
        read = by_id[image.id][0]
        # The name of an image of Amazon shows its use. Images of other owners may have similar names by chance, so
        # their
        named = name_matches(image.name) if image.owner == "amazon" or read.images else []
        _, variants, family = next((match for match in named if match[0] == image.arch), (None, (), None))
        choices = (of_arch(image.arch),)
        images.append(
            read.image._replace(arch=image.arch, variants=variants, choices=choices, family=family, found=image)
        )
    finds_of = []
    for read, finds in found:
        ids = {image.id for image in finds.images}
        used = tuple(image for image in taken if image.id in ids)
        passed = passed_over(finds.images, taken, release, facts.now)
        finds_of.append((read, finds._replace(used=used, passed=passed)))
    return images, finds_of


def _read(term: SelectorTerm) -> _Read:
    """Return the images of a term without alias, as far as the file shows them."""
    for key, value in (("id", term.id), ("ssmParameter", term.ssm_parameter), ("name", term.name)):
        node = term.node.get(key)
        if value is None or value == "" or node is None:
            continue
        if not isinstance(value, str):
            return _Read(term, Image(node, None), (), f"the image's {key} is a placeholder", open=True)
        if key == "id":
            reason = f"`{short(value, 48)}` does not show its architecture"
            return _Read(term, Image(node, None, id=value), (), reason)
        if key == "name":
            image, found = Image(node, None, name=value), name_matches(value)
            reason = f"the image name `{short(value, 48)}` does not show its architecture"
        else:
            image, found = Image(node, None, parameter=value), parameter_matches(value)
            reason = f"the parameter `{short(value, 48)}` does not show the architecture of its image"
        images = tuple(_image_with_types(image, match) for match in found)
        # With a placeholder in another field of the term, the images cannot be looked up in AWS.
        hidden = key == "name" and image_question(term) is None
        return _Read(term, image, images, None if images else reason, hidden)
    node = term.node.get("tags") or term.node
    reason = "only AWS knows which images have these tags"
    return _Read(term, Image(node, None), (), reason, open=image_question(term) is None)


def _image_with_types(image: Image, match: Match) -> Image:
    """Return an image with the architecture, variants and family that its published name shows."""
    arch, variants, family = match
    choices = (of_arch(arch),)
    return image._replace(arch=arch, variants=variants, choices=choices, family=family)
