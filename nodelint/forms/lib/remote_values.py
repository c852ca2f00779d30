"""Recognize the keys under which charts and modules accept pools and classes, and the fields of pools and classes."""

from __future__ import annotations

HOLDER = (
    r"(?i:(?:karpenter[_-]?)?(?:node[_-]?pools?|(?:ec2)?[_-]?node[_-]?class(?:es)?|provisioners"
    r"|(?:aws)?[_-]?node[_-]?templates))"
)
"""Keys under which charts accept pools and classes."""
FIELD = (
    r"(?i:instance|capacity|ami|subnet|securityGroup|requirement|disruption|consolidat|expire|arch|taint"
    r"|weight|blockDevice|userData|metadataOptions|zones?$|limits$|cpu)"
)
"""The beginning of keys that configure a pool or a class."""
NOT_HERE = "no template of which is here: what it makes of them is not judged"
