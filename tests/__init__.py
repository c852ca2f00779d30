"""The tests, and what they share."""

import sys

# When it is loaded it makes 38 grammars, in a second, for formats (`iri`) that no schema here names. jsonschema does
# without it.
sys.modules["rfc3987_syntax"] = None  # type: ignore[assignment]
