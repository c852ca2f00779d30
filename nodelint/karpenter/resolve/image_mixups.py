"""With which images Karpenter before 1.4.0 can confuse a node's image when it learns the capacity of the node.

Such a release compares images with the requirements of the NodeClaim instead of the node's own instance type.
Well-known labels may be undefined, and the first match wins.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import combinations

from nodelint.ec2.catalog import Catalog
from nodelint.ec2.type_set import TypeSet, union
from nodelint.karpenter.images import Image
from nodelint.model.keys import ACCELERATOR_COUNT, ARCH, GPU_COUNT
from nodelint.model.releases import has_defect
from nodelint.model.requirement import Requirement, Requirements, well_known


class ImageMixups:
    """The images of a NodePool's class that Karpenter can take for the image of a node.

    `requirements` are those of the pool. `types_by_image` are the types that use each image.
    """

    def __init__(
        self, catalog: Catalog, images: Sequence[Image], requirements: Requirements, types_by_image: Sequence[TypeSet]
    ) -> None:
        self._catalog = catalog
        self._version = catalog.version
        self._images = images
        self._requirements = requirements
        self._types_by_image = types_by_image

    @cached_property
    def possible(self) -> tuple[int, ...]:
        """Return the indexes of the images that Karpenter can take for a node's image. Empty for releases without the
        defect.
        """
        if not has_defect("undiscovered-memory", self._version):
            return ()
        return self._matching(self._requirements)

    def _matching(self, requirements: Requirements) -> tuple[int, ...]:
        allow = well_known(self._version)
        return tuple(
            index
            for index, image in enumerate(self._images)
            if any(requirements.compatible(choice, allow) is None for choice in image.choices)
        )

    @cached_property
    def types(self) -> TypeSet:
        """Return the launchable types for whose nodes Karpenter can take a wrong image."""
        return union(
            types
            for index, types in enumerate(self._types_by_image)
            if any(other != index for other in self.possible)
        )

    def requirements_for(self, index: int) -> list[tuple[str, str, tuple[str, ...]]] | None:
        """Return the requirements (key, operator, values) to add, so that Karpenter takes only this image for the
        nodes.

        Only necessary ones are returned, in the order architecture, GPU, accelerator. None if each such combination
        would exclude types that use the image, or if none is enough.
        """
        arch = self._images[index].arch
        variants = self._images[index].variants
        if arch is None:
            return None
        offers: list[tuple[str, str, tuple[str, ...]]] = [(ARCH, "In", (arch,))]
        if "windows" not in variants:
            for key, variant in ((GPU_COUNT, "nvidia"), (ACCELERATOR_COUNT, "neuron")):
                special = variant in variants and "standard" not in variants
                offers.append((key, "Exists" if special else "DoesNotExist", ()))
        types, select = self._types_by_image[index], self._catalog.select
        offers = [offer for offer in offers if not types - select(Requirement.parse(*offer))]
        for size in range(len(offers) + 1):
            for combination in combinations(offers, size):
                requirements = self._requirements.copy()
                requirements.add(*(Requirement.parse(*offer) for offer in combination))
                if self._matching(requirements) == (index,):
                    return list(combination)
        return None
