"""The names of instance types that EC2's API knows, read from botocore's description of the API.

botocore is installed together with nodelint, and often newer than the catalogue. A listed name only shows that the
API accepts the name, and nothing about sizes, prices and regions. The description is read as text, because loading
botocore takes far longer.
"""

from __future__ import annotations

from functools import cache

from nodelint.base.types import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import BinaryIO

_DESCRIPTION = "data/ec2/2016-11-15/service-2.json.gz"
_SHAPE = b'"InstanceType":{'
_LONGEST = 1 << 17
"""The largest size of the list of names, in bytes."""
_AT_ONCE = 1 << 16


@cache
def api_types() -> frozenset[str]:
    """Return the names of the instance types that the EC2 API accepts. Empty if botocore is not installed, or if its
    description has another form.
    """
    import os
    import zlib
    from importlib.util import find_spec

    found = find_spec("botocore")
    folders = found.submodule_search_locations if found is not None else None
    for folder in folders or ():
        try:
            with open(os.path.join(folder, _DESCRIPTION), "rb") as file:
                names = _find_names(file)
        except (OSError, zlib.error):
            continue
        if names:
            return names
    return frozenset()


def _find_names(file: BinaryIO) -> frozenset[str]:
    """Return the names that a compressed description lists. Only the part up to the list is decompressed."""
    import re
    import zlib

    listed = re.compile(rb'"InstanceType":\{\s*"type":"string",\s*"enum":\[([^\]]*)\]')
    unpack, text = zlib.decompressobj(zlib.MAX_WBITS | 16), b""
    while packed := file.read(_AT_ONCE):
        text = text[-_LONGEST:] + unpack.decompress(packed)
        # Search for a fixed text first: the pattern alone would be slow.
        at = text.find(_SHAPE)
        while at >= 0:
            if (names := listed.match(text, at)) is not None:
                return frozenset(re.findall('"([a-z0-9.-]+)"', names[1].decode(errors="replace")))
            at = text.find(_SHAPE, at + 1)
    return frozenset()
