"""The prices of a region: the requests to AWS, which are Karpenter's, and how the answers are read."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any

from nodelint.ec2.client.descriptions import OwnedRecord, refuse_blank
from nodelint.ec2.client.failures import MalformedAnswer
from nodelint.ec2.snapshot import OnDemandPrice, Question, SpotPrice
from nodelint.model.fact_kinds import FactKind

_ELSEWHERE = ("cn-", "us-gov-", "us-iso", "eu-isoe", "eusc-")
"""Prefixes of the regions whose accounts cannot use the price list in USD."""

_TENANCY = {"Compute Instance": "Shared", "Compute Instance (bare metal)": "Dedicated"}
"""The tenancy of on-demand instances in the price list, by product family."""

_DIGITS = 10
"""The number of decimal places that are kept."""


def price_questions(region: str) -> list[Question]:
    """Return the questions for the on-demand and spot prices of a region."""
    families = (
        Question.make("prices", ("regionCode", region), ("productFamily", family)) for family in sorted(_TENANCY)
    )
    return [*families, Question("spot-prices")]


def pricing_region(region: str) -> str | None:
    """Return the region of the price list that has the prices of a region. None if there are none in USD."""
    if region.startswith(_ELSEWHERE):
        return None
    near = {"ap": "ap-south-1", "eu": "eu-central-1"}
    return near.get(region.partition("-")[0], "us-east-1")


def price_request(question: Question) -> Mapping[str, Any]:
    """Return the arguments of the call that answers a question about prices."""
    if question.kind == "spot-prices":
        return {
            "ProductDescriptions": ["Linux/UNIX", "Linux/UNIX (Amazon VPC)"],
            "MaxResults": 1000,
        }
    wanted = {
        **dict(question.filters),
        "tenancy": _TENANCY[question.value("productFamily") or ""],
        "serviceCode": "AmazonEC2",
        "preInstalledSw": "NA",
        "operatingSystem": "Linux",
        "capacitystatus": "Used",
        "marketoption": "OnDemand",
    }
    filters = [{"Type": "TERM_MATCH", "Field": field, "Value": value} for field, value in sorted(wanted.items())]
    return {"ServiceCode": "AmazonEC2", "Filters": filters, "MaxResults": 100}


def _read_on_demand(items: Iterable[Any]) -> list[OwnedRecord]:
    """Return the on-demand price of each type. Raise MalformedAnswer for an entry that cannot be read.

    If a type has several prices, the highest counts: the others are for parts of an hour or for prepaid use.
    """
    found: dict[str, float] = {}
    for item in items:
        try:
            entry = json.loads(item)
            name = entry["product"]["attributes"]["instanceType"]
            refuse_blank({"instanceType": name}, ("instanceType",))
            terms = entry["terms"].get("OnDemand", {}).values()
            dimensions = [dimension for term in terms for dimension in term["priceDimensions"].values()]
            for usd in (dimension["pricePerUnit"].get("USD") for dimension in dimensions):
                # A price of 0 is the price of a reservation.
                if usd is not None and _amount(usd) > 0:
                    found[name] = max(_amount(usd), found.get(name, 0.0))
        except (KeyError, TypeError, AttributeError, ValueError, RecursionError) as error:
            raise MalformedAnswer from error
    return [OwnedRecord(OnDemandPrice(name, _text(found[name]))) for name in sorted(found)]


def _read_spot(items: Iterable[Any]) -> list[OwnedRecord]:
    """Return the newest spot price of each type and zone. Raise MalformedAnswer for an entry that cannot be read."""
    found: dict[tuple[str, str], tuple[datetime, float]] = {}
    for item in items:
        try:
            refuse_blank(item, ("InstanceType", "AvailabilityZone"))
            key = item["InstanceType"], item["AvailabilityZone"]
            price = item["Timestamp"], _amount(item["SpotPrice"])
            if price[1] > 0 and (key not in found or price[0] > found[key][0]):
                found[key] = price
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise MalformedAnswer from error
    return [
        OwnedRecord(SpotPrice(f"{name}/{zone}", name, zone, _text(found[name, zone][1])))
        for name, zone in sorted(found)
    ]


def _amount(usd: object) -> float:
    """Return a price as a number. Raise ValueError if it is not an amount."""
    amount = float(usd) if isinstance(usd, str) else -1.0
    if not 0 <= amount < 1e6:  # not true for nan
        raise ValueError("not a price")
    return amount


def _text(amount: float) -> str:
    return f"{amount:.{_DIGITS}f}".rstrip("0").rstrip(".")


PRICE_READERS: Mapping[FactKind, tuple[str, Callable[[Iterable[Any]], list[OwnedRecord]]]] = {
    "prices": ("PriceList", _read_on_demand),
    "spot-prices": ("SpotPriceHistory", _read_spot),
}
"""The key of an answer's list, and the function that reads its items, for each kind."""
