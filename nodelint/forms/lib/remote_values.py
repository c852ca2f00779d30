"""Keys under which charts and modules take pools and classes, and fields by which these are known."""

from __future__ import annotations

HOLDER = (
    r"(?i:(?:karpenter[_-]?)?(?:node[_-]?pools?|(?:ec2)?[_-]?node[_-]?class(?:es)?|provisioners"
    r"|(?:aws)?[_-]?node[_-]?templates))"
)
"""Keys under which charts take pools and classes."""
FIELD = (
    r"(?i:instance|capacity|ami|subnet|securityGroup|requirement|disruption|consolidat|expire|arch|taint"
    r"|weight|blockDevice|userData|metadataOptions|zones?$|limits$|cpu)"
)
"""How a key begins that says what a pool launches, or a class takes."""
NOT_HERE = "no template of which is here: what it makes of them is not judged"
