"""For which images Karpenter before 1.4.0 takes the nodes of a NodePool when it learns their capacity.

Such a release compares images with the requirements of the NodeClaim, not of the node's own type, and lets well-known
labels be undefined; the first match wins.
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
    """The images of a NodePool's class that its nodes can be taken for.

    `requirements` are those of the pool, `types_by_image` the types that take each image.
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
        """Return the numbers of the images that some node can be taken for. Empty for releases without the defect."""
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
        """Return the launchable types whose nodes can be taken for another image than their own."""
        return union(
            types
            for index, types in enumerate(self._types_by_image)
            if any(other != index for other in self.possible)
        )

    def requirements_for(self, index: int) -> list[tuple[str, str, tuple[str, ...]]] | None:
        """Return what to ask for besides, so that nodes are taken for this image alone (key, operator, values).

        Only what is needed, in the order architecture, GPU, accelerator. None if nothing achieves it without shutting
        out types that take the image.
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
