"""Implement Terraform functions for networks and addresses.

Source of the rules: Terraform's documentation of cidrhost, cidrnetmask, cidrsubnet and cidrsubnets.
"""

from __future__ import annotations

from nodelint.base.types import TYPE_CHECKING
from nodelint.forms.lib.made_nodes import scalar, sequence
from nodelint.forms.terraform.functions.collections import Function, take_integer, take_text
from nodelint.forms.terraform.nodes import EvaluationFailure

if TYPE_CHECKING:
    import ipaddress

    from nodelint.text.nodes import Node

    Network = ipaddress.IPv4Network | ipaddress.IPv6Network


def _read_network(prefix: Node) -> Network:
    import ipaddress

    text = take_text(prefix)
    if "/" not in text:
        raise EvaluationFailure
    return ipaddress.ip_network(text, strict=False)


def _host(at: Node, prefix: Node, number: Node) -> object:
    network, offset = _read_network(prefix), take_integer(number)
    if not -network.num_addresses <= offset < network.num_addresses:
        raise EvaluationFailure
    return str(network[offset])


def _net_mask(at: Node, prefix: Node) -> object:
    network = _read_network(prefix)
    if network.version != 4:
        raise EvaluationFailure
    return str(network.netmask)


def _make_network(network: Network, length: int, number: int) -> Network:
    if not 0 <= number < 1 << (length - network.prefixlen) or length > network.max_prefixlen:
        raise EvaluationFailure
    start = int(network.network_address) + (number << (network.max_prefixlen - length))
    return type(network)((start, length))


def _subnet(at: Node, prefix: Node, bits: Node, number: Node) -> object:
    network = _read_network(prefix)
    return str(_make_network(network, network.prefixlen + take_integer(bits), take_integer(number)))


def _subnets(at: Node, prefix: Node, *bits: Node) -> object:
    network, made = _read_network(prefix), list[str]()
    free = int(network.network_address)
    for more in bits:
        length = network.prefixlen + take_integer(more)
        if take_integer(more) < 1 or length > network.max_prefixlen:
            raise EvaluationFailure
        size = 1 << (network.max_prefixlen - length)
        free = -(-free // size) * size
        if free + size > int(network.broadcast_address) + 1:
            raise EvaluationFailure
        made.append(str(type(network)((free, length))))
        free += size
    return sequence(at, [scalar(at, text) for text in made], "list")


ADDRESSES: dict[str, Function] = {
    "cidrhost": _host,
    "cidrnetmask": _net_mask,
    "cidrsubnet": _subnet,
    "cidrsubnets": _subnets,
}
"""The functions by name."""
