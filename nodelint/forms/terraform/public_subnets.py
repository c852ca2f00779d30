"""Find public subnets that Terraform gives a tag, by resource, by tag resource, or by the module for VPCs."""

from __future__ import annotations

import re

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.forms.terraform.karpenter_calls import majors_of
from nodelint.forms.terraform.terraform_blocks import BlockText, own_arguments
from nodelint.model.finding import Span

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nodelint.forms.terraform.terraform_trace import TerraformBlocks

__all__ = ["TaggedSubnets", "are_only_tagged", "find_tagged_subnets", "has_tagged_private_subnets"]

_VPC = re.compile(r'(?m)^[ \t]*source[ \t]*=[ \t]*"(?:registry\.terraform\.io/)?terraform-aws-modules/vpc/aws"')
_PRIVATE = 4
"""The first major version of terraform-aws-modules/vpc whose public subnets give no addresses by default."""
_NEAR = 40
"""The most characters between the key and the value of a tag."""
_GIVES_ADDRESS = re.compile(r"(?m)^[ \t]*map_public_ip_on_launch[ \t]*=[ \t]*true\b")
_SUBNET = re.compile(r"\baws_subnet\.([\w-]+)")
_TABLE = re.compile(r"\baws_route_table\.([\w-]+)")
_TO_INTERNET = re.compile(r"(?m)^[ \t]*gateway_id[ \t]*=[ \t]*\"?(?:\$\{)?aws_internet_gateway\.")
_OUTPUT = re.compile(r"\bmodule\.[\w-]+(?:\[[^\]]*\])?\.public_subnets?(?:_ids)?\b")


class TaggedSubnets(NamedTuple):
    """Public subnets with a tag.

    - `at`: where the tag is set.
    - `value`: the expression of its value as it is written, without quotes.
    - `gives_address`: whether instances in them get a public address. None if that is not known.
    """

    at: Span
    value: str
    gives_address: bool | None


def find_tagged_subnets(path: str, key: str, blocks: TerraformBlocks) -> Iterator[TaggedSubnets]:
    """Yield the public subnets that the blocks of a file give a tag."""
    for block in blocks.find_in(path):
        if key not in block.text:
            continue
        if block.kind == "aws_subnet" and _is_public(block, blocks):
            yield TaggedSubnets(
                _place_of(key, block), _value_of(key, block.text), _GIVES_ADDRESS.search(block.text) is not None
            )
        elif block.kind == "aws_ec2_tag":
            given = own_arguments(block.text)
            target = f"{given.get('resource_id', '')} {given.get('for_each', '')}"
            if given.get("key", "").strip('"') == key:
                yield from _find_target(target, block, key, blocks)
        elif block.address.startswith("module.") and _VPC.search(block.text) is not None:
            given = own_arguments(block.text)
            tags = next((given[name] for name in ("public_subnet_tags", "tags") if key in given.get(name, "")), "")
            if "public_subnets" in given and tags:
                gives_address = _GIVES_ADDRESS.search(block.text) is not None or _default_of_module(block, given)
                yield TaggedSubnets(_place_of(key, block, "public_subnet_tags"), _value_of(key, tags), gives_address)


def _default_of_module(block: BlockText, given: dict[str, str]) -> bool | None:
    """Return whether public subnets of the module for VPCs give addresses by default: not from version 4 on.

    None if the version is not known, or if the call sets the argument.
    """
    majors = majors_of(block)
    return False if "map_public_ip_on_launch" not in given and majors is not None and majors[0] >= _PRIVATE else None


def are_only_tagged(tagged: Sequence[TaggedSubnets], key: str, blocks: TerraformBlocks) -> bool:
    """Return whether these public subnets are the only ones to which the Terraform files give the tag."""
    others = [found.at for found in blocks.tag_values(key, settled=False) if "subnets" in found.on]
    keys = [found.at for found in tagged]
    return all(
        any(at.source.path == place.source.path and 0 <= at.start - place.end < _NEAR for place in keys)
        for at in others
    )


def has_tagged_private_subnets(path: str, key: str, value: str, blocks: TerraformBlocks) -> bool:
    """Return whether the root modules of a file also give the tag with this value to subnets that are not public."""
    for block in blocks.list_beside_in_root(path):
        if key not in block.text:
            continue
        given = own_arguments(block.text)
        if block.kind == "aws_subnet" and not _is_public(block, blocks):
            tags = block.text
        elif block.kind == "aws_ec2_tag" and "private" in f"{given.get('resource_id')} {given.get('for_each')}":
            tags = f"{key} = {given.get('value', '')}"
        elif block.address.startswith("module.") and "private_subnets" in given:
            tags = next((given[name] for name in ("private_subnet_tags", "tags") if key in given.get(name, "")), "")
        else:
            continue
        if key in tags and _value_of(key, tags) == value:
            return True
    return False


def _find_target(target: str, tag: BlockText, key: str, blocks: TerraformBlocks) -> Iterator[TaggedSubnets]:
    named = _SUBNET.findall(target)
    neighbours = {block.address: block for block in blocks.find_beside(tag.source.path)}
    subnets = [neighbours[f"aws_subnet.{name}"] for name in named if f"aws_subnet.{name}" in neighbours]
    public = [subnet for subnet in subnets if _is_public(subnet, blocks)]
    value = _value_of(key, f"{key} = {own_arguments(tag.text).get('value', '')}")
    if public:
        yield TaggedSubnets(_place_of(key, tag), value, _GIVES_ADDRESS.search(public[0].text) is not None)
    elif _OUTPUT.search(target) is not None:
        yield TaggedSubnets(_place_of(key, tag), value, None)


def _is_public(subnet: BlockText, blocks: TerraformBlocks) -> bool:
    """Return whether a subnet gives public addresses, or routes to an internet gateway."""
    if _GIVES_ADDRESS.search(subnet.text) is not None:
        return True
    neighbours = blocks.find_beside(subnet.source.path)
    tables = [
        name
        for block in neighbours
        if block.kind == "aws_route_table_association"
        and subnet.address.partition(".")[2] in _SUBNET.findall(own_arguments(block.text).get("subnet_id", ""))
        for name in _TABLE.findall(own_arguments(block.text).get("route_table_id", ""))
    ]
    return any(_routes_to_internet(table, neighbours) for table in tables)


def _routes_to_internet(table: str, neighbours: Sequence[BlockText]) -> bool:
    for block in neighbours:
        is_table = block.address == f"aws_route_table.{table}"
        is_route = block.kind == "aws_route" and table in _TABLE.findall(block.text)
        if (is_table or is_route) and _TO_INTERNET.search(block.text) is not None:
            return True
    return False


def _value_of(key: str, tags: str) -> str:
    """Return the expression of a tag's value, without quotes and `${}` around it."""
    found = re.search(rf'{re.escape(key)}"?\s*[=:]\s*([^\n,}}#]*)', tags)
    written = found[1].strip() if found is not None else ""
    return re.sub(r'^"(?:\$\{([\w.]+)\}|([^"]*))"$', r"\1\2", written)


def _place_of(key: str, block: BlockText, argument: str = "") -> Span:
    """Return the place of a tag key: in the argument of the block if it is there, else in the whole block."""
    text, begin = block.source.text, block.at.end
    if argument and argument in block.text:
        begin = max(text.find(argument, begin), begin)
    start = text.find(key, begin)
    return Span(block.source, start, start + len(key))
