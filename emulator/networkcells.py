"""What a table says of services and of what is behind them: ports, addresses, endpoints."""

from typing import Any

from emulator.trees import items_at, number_at, text_at

__all__ = ["endpoints", "external_address", "ports", "slice_endpoints", "slice_ports"]

NONE = "<none>"
UNSET = "<unset>"
_SHOWN = 3
"""Endpoints that a cell names; more are counted."""


def ports(service: Any) -> str:
    """Ports of a service, each with its protocol."""
    shown = []
    for port in items_at(service, "spec", "ports"):
        node_port = number_at(port, "nodePort")
        middle = f":{node_port}" if node_port else ""
        shown.append(f"{number_at(port, 'port')}{middle}/{text_at(port, 'protocol', otherwise='TCP')}")
    return ",".join(shown) or NONE


def external_address(service: Any) -> str:
    """Where a service is reached from outside."""
    addresses = [item for item in items_at(service, "spec", "externalIPs") if isinstance(item, str)]
    kind = text_at(service, "spec", "type")
    if kind == "ExternalName":
        return text_at(service, "spec", "externalName")
    if kind == "LoadBalancer":
        ingress = items_at(service, "status", "loadBalancer", "ingress")
        addresses += [text_at(item, "ip") or text_at(item, "hostname") for item in ingress]
        return ",".join(filter(None, addresses)) or "<pending>"
    return ",".join(addresses) or NONE


def _first(shown: list[str], otherwise: str) -> str:
    more = f" + {len(shown) - _SHOWN} more..." if len(shown) > _SHOWN else ""
    return ",".join(shown[:_SHOWN]) + more if shown else otherwise


def endpoints(obj: Any) -> str:
    """Addresses and ports of Endpoints, the first few."""
    shown = []
    for subset in items_at(obj, "subsets"):
        for port in items_at(subset, "ports") or [None]:
            number = f":{number_at(port, 'port')}" if port is not None else ""
            shown += [f"{text_at(each, 'ip')}{number}" for each in items_at(subset, "addresses")]
    return _first(shown, NONE)


def slice_endpoints(obj: Any) -> str:
    """Addresses of an EndpointSlice, the first few."""
    return _first([str(each) for item in items_at(obj, "endpoints") for each in items_at(item, "addresses")], UNSET)


def slice_ports(obj: Any) -> str:
    """Ports of an EndpointSlice, the first few."""
    return _first([str(number_at(port, "port")) for port in items_at(obj, "ports")], UNSET)
