"""What releases before 1.0.0 lack of what the oldest release known has: fields, values and label keys of v1beta1.

CRDs of v0.32.0 to v0.37.0 at their tags, github.com/aws/karpenter-provider-aws, pkg/apis/crds.
"""

from __future__ import annotations

import re

from nodelint.model.releases import Version

_SINCE = {
    "instanceProfile": Version(0, 32, 2),
    "budgets": Version(0, 34, 0),
    "instanceStorePolicy": Version(0, 34, 0),
    "AL2023": Version(0, 35, 0),
    "associatePublicIPAddress": Version(0, 35, 0),
    "minValues": Version(0, 35, 0),
    "instance-cpu-manufacturer": Version(0, 36, 0),
    "instance-ebs-bandwidth": Version(0, 37, 0),
    "WhenEmptyOrUnderutilized": Version(1, 0, 0),
    "alias": Version(1, 0, 0),
    "terminationGracePeriod": Version(1, 0, 0),
}
"""The first release that has each word."""


def lacks(release: Version, text: str) -> bool:
    """Whether a text holds a word that a release before 1.0.0 refuses."""
    return any(release < since and re.search(rf"(?<![\w-]){word}(?![\w-])", text) for word, since in _SINCE.items())
