"""Find the images that Karpenter selects for the AMI family, the alias or the selector terms of a class.

With facts from AWS, these are the images that the controller of a release selects, in the order in which it tries
them (`images.choice`). Without such facts, the files decide: `data/images.json` lists the images of each alias family
in each release, and which instance types each image suits. The name of an image in a published scheme contains its
architecture (`images.names`). An id, a tag or a custom name does not: the architecture is unknown.
"""

from __future__ import annotations

from collections.abc import Iterable

from nodelint.ec2.facts import NOTHING, AwsFacts
from nodelint.ec2.questions import alias_of, alias_version_behind
from nodelint.karpenter.images.choice import ARCHITECTURES, Passed, Why, is_deprecated
from nodelint.karpenter.images.families import (
    alias_images,
    alias_version_valid,
    aliases_with,
    ami_family_of,
    default_gib,
    devices_of,
    ended,
    excluded_prefix,
    families,
    family_example,
    family_title,
    first_for,
    first_published,
    image_since,
    newest_known,
    performance_cost,
    provenance,
    published_by,
    successor_of,
    system_gib,
    variant_requirements,
    version_order,
)
from nodelint.karpenter.images.names import Mixture, canonical, mixture, name_matches, parameter_matches
from nodelint.karpenter.images.records import Image, ImageProblem, ImageSet, TermImages, unknown_fact
from nodelint.model.keys import ARCH
from nodelint.model.manifest import EC2NodeClass
from nodelint.model.manifest_terms import Alias, Text, requirement_line, text
from nodelint.model.releases import KubernetesVersion, Version
from nodelint.model.requirement import Requirement, Requirements
from nodelint.text import UNKNOWN, Node

__all__ = [
    "ARCHITECTURES",
    "Image",
    "ImageProblem",
    "ImageSet",
    "Mixture",
    "Passed",
    "TermImages",
    "Why",
    "alias_images",
    "alias_version_behind",
    "alias_version_valid",
    "aliases_with",
    "ami_family_of",
    "canonical",
    "default_gib",
    "devices_of",
    "ended",
    "excluded_prefix",
    "families",
    "family_example",
    "family_title",
    "first_for",
    "first_published",
    "image_since",
    "images_of",
    "is_deprecated",
    "mixture",
    "name_matches",
    "newest_known",
    "parameter_matches",
    "performance_cost",
    "provenance",
    "published_by",
    "successor_of",
    "system_gib",
    "unknown_fact",
    "variant_requirements",
    "version_order",
]


def images_of(
    node_class: EC2NodeClass,
    release: Version,
    kubernetes: KubernetesVersion | None = None,
    facts: AwsFacts = NOTHING,
) -> ImageSet:
    """Return the images that the terms of a class select in a release, with the unknown facts and the problems.

    Without a Kubernetes version, no image is removed that one version may have: the problem is then not `active`. If
    an AWS fact about a term is missing, the term is judged by the file alone. Deprecation is judged at `facts.now`.
    """
    found = _of_spec(node_class, release, kubernetes, facts)
    if found.complete or facts:
        return found
    resolved = tuple(_of_status(node_class))
    return found._replace(images=resolved, unknown=(), terms=()) if resolved else found


def _of_spec(
    node_class: EC2NodeClass, release: Version, kubernetes: KubernetesVersion | None, facts: AwsFacts
) -> ImageSet:
    family = node_class.ami_family
    field = node_class.node.find("spec", "amiSelectorTerms")
    alias = alias_of(node_class)
    if alias is not None:
        from nodelint.karpenter.images.aliases import of_alias

        return of_alias(alias, node_class, release, kubernetes, facts)
    if field is None or (field.kind == "sequence" and not field.items):
        return _without_terms(node_class, family)
    if field.kind == "scalar" and field.value is UNKNOWN:
        return _unknown(field, "the image terms are a placeholder", family)
    aliased = next((term for term in node_class.ami_terms if term.alias), None)
    if aliased is not None:
        return _unknown(aliased.node.get("alias") or aliased.node, "the alias is a placeholder", family)
    from nodelint.karpenter.images.terms import of_terms

    return of_terms(field, node_class.ami_terms, release, facts, _text(family))


def _of_status(node_class: EC2NodeClass) -> Iterable[Image]:
    """Yield the images in the status of a class as `kubectl get` prints it, in their order, each with its
    requirements.

    Karpenter 1.0.0 and newer writes them. Nothing is yielded if the status belongs to an older generation of the
    class.
    """
    field = node_class.node.find("status", "amis")
    generation, conditions = (
        node_class.node.find("metadata", "generation"),
        node_class.node.find("status", "conditions"),
    )
    for node in conditions.items if conditions is not None and conditions.kind == "sequence" else ():
        seen = node.get("observedGeneration")
        if text(node.get("type")) == "AMIsReady" and seen is not None and generation is not None:
            field = field if seen.value == generation.value else None
    for node in field.items if field is not None and field.kind == "sequence" else ():
        id, name, wanted = text(node.get("id")), text(node.get("name")), node.get("requirements")
        if not isinstance(id, str) or wanted is None or wanted.kind != "sequence":
            continue
        lines = [requirement_line(item) for item in wanted.items if item.kind == "mapping"]
        requirements = [
            Requirement.parse(line.key, line.operator, line.texts)
            for line in lines
            if isinstance(line.key, str) and isinstance(line.operator, str) and line.known
        ]
        arch = next(
            (
                min(requirement.values)
                for requirement in requirements
                if requirement.key == ARCH and len(requirement.values) == 1
            ),
            None,
        )
        if arch is None or len(requirements) < len(wanted.items):
            continue
        named = next((m for m in name_matches(name) if m[0] == arch), None) if isinstance(name, str) else None
        variants, family = (named[1], named[2]) if named else ((), None)
        yield Image(node.get("id") or node, arch, variants, (Requirements(requirements),), family, id=id)


def _unknown(at: Node, reason: str, family: Text | None) -> ImageSet:
    return ImageSet((Image(at, None),), (unknown_fact(at, reason),), ami_family=_text(family))


def _text(value: Text | None) -> str | None:
    return value if isinstance(value, str) else None


def _without_terms(node_class: EC2NodeClass, family: Text | None) -> ImageSet:
    at = node_class.node.find("spec", "amiFamily") or node_class.name_node
    if node_class.partial:
        return _unknown(at, "the image terms are not in this part of the class", family)
    if node_class.version == "v1beta1" and family == "Ubuntu":
        # The conversion marks the class as incompatible, and provisioning passes it over.
        message = "Karpenter 1.0 finds no images for amiFamily `Ubuntu`: amiSelectorTerms has to name them"
        found = ImageProblem("family", at, message)
        return ImageSet((), problems=(found,), ami_family="AL2", alias=Alias("ubuntu", "latest"), alias_node=at)
    if family is UNKNOWN:
        return _unknown(at, "the AMI family is a placeholder", family)
    problem = ImageProblem("missing", at, "the class has no amiSelectorTerms, so it finds no image")
    return ImageSet((), problems=(problem,), ami_family=_text(family))
