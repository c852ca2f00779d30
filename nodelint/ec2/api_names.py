"""The names of instance types that EC2's API knows, as botocore's description of it lists them.

botocore is installed beside nodelint, and often newer than the catalogue. An entry says that the API takes the name,
and nothing of sizes, prices and regions. The description is read as a text: loading botocore takes far longer.
"""

from __future__ import annotations

from functools import cache

_DESCRIPTION = "data/ec2/2016-11-15/service-2.json.gz"


@cache
def api_types() -> frozenset[str]:
    """The names; empty where botocore is not there, or describes EC2 in another way."""
    import gzip
    import os
    import re
    from importlib.util import find_spec

    found = find_spec("botocore")
    folders = found.submodule_search_locations if found is not None else None
    for folder in folders or ():
        try:
            with gzip.open(os.path.join(folder, _DESCRIPTION)) as file:
                text = file.read()
        except (OSError, EOFError):
            continue
        listed = re.search(rb'"InstanceType":\{\s*"type":"string",\s*"enum":\[([^\]]*)\]', text)
        if listed is not None:
            return frozenset(name.decode() for name in re.findall(rb'"([a-z0-9.-]+)"', listed[1]))
    return frozenset()
