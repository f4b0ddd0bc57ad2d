"""Table cells of services, Ingresses and endpoints: hosts, ports, addresses, endpoints."""

from typing import Any

from pyroclast.emulator.trees import items_at, number_at, object_at, text_at

__all__ = [
    "endpoints",
    "external_address",
    "ingress_addresses",
    "ingress_hosts",
    "ingress_parameters",
    "ingress_ports",
    "ports",
    "slice_endpoints",
    "slice_ports",
]

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
    """Return the external addresses of a service."""
    addresses = [item for item in items_at(service, "spec", "externalIPs") if isinstance(item, str)]
    kind = text_at(service, "spec", "type")
    if kind == "ExternalName":
        return text_at(service, "spec", "externalName")
    if kind == "LoadBalancer":
        return ",".join([*addresses, *_balanced(service)]) or "<pending>"
    return ",".join(addresses) or NONE


def _balanced(obj: Any) -> list[str]:
    """Return the addresses or names of the load balancers of an object."""
    ingress = items_at(obj, "status", "loadBalancer", "ingress")
    return [place for item in ingress if (place := text_at(item, "ip") or text_at(item, "hostname"))]


def ingress_hosts(obj: Any) -> str:
    """Hosts of an Ingress, the first few; whatever rules come after these are counted, with a host or without."""
    hosts = [text_at(rule, "host") for rule in items_at(obj, "spec", "rules")]
    named = [place for place, host in enumerate(hosts) if host][:_SHOWN]
    is_cut = len(named) == _SHOWN and named[-1] + 1 < len(hosts)
    more = f" + {len(hosts) - _SHOWN} more..." if is_cut else ""
    return ",".join(hosts[place] for place in named) + more if named else "*"


def ingress_addresses(obj: Any) -> str:
    """Return the addresses of an Ingress."""
    return ",".join(sorted(set(_balanced(obj))))


def ingress_ports(obj: Any) -> str:
    """Ports of an Ingress."""
    return "80, 443" if items_at(obj, "spec", "tls") else "80"


def ingress_parameters(obj: Any) -> str:
    """The object that configures a class of Ingresses."""
    parameters = object_at(obj, "spec", "parameters")
    if not parameters:
        return NONE
    kind = ".".join(filter(None, (text_at(parameters, "kind"), text_at(parameters, "apiGroup"))))
    return f"{kind}/{text_at(parameters, 'name')}"


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
