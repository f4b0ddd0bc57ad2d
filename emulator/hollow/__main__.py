"""`python -m pyroclast.emulator.hollow`: hollow nodes as a process of their own."""

import argparse
import sys
from collections.abc import Sequence

from pyroclast.emulator.arguments import pair, quantity, seconds, whole
from pyroclast.emulator.command import until_signal
from pyroclast.emulator.hollow.kubelets import KubeletOptions
from pyroclast.emulator.hollow.run import run_hollow_nodes
from pyroclast.emulator.hollow.template import NodeTemplate
from pyroclast.kube.api.configuration import ClusterOptions, ConfigError

EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_UNUSABLE = 2


def read(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m pyroclast.emulator.hollow", description="Nodes that exist in the API alone."
    )
    parser.add_argument("--kubeconfig", default="", help="kubeconfig file; else in-cluster or $KUBECONFIG")
    parser.add_argument("--context", default="", help="context of the kubeconfig file")
    parser.add_argument("--nodes", type=whole(), default=10, help="how many nodes to register")
    parser.add_argument("--prefix", default="hollow", help="nodes are called PREFIX-NUMBER")
    parser.add_argument("--cpu", type=quantity, default="32", help="CPUs of a node")
    parser.add_argument("--memory", type=quantity, default="256Gi", help="memory of a node")
    parser.add_argument("--pods", type=quantity, default="110", help="most pods of a node")
    parser.add_argument(
        "--resource", type=_resource, action="append", default=[], metavar="NAME=AMOUNT", help="a further resource"
    )
    parser.add_argument("--label", type=pair, action="append", default=[], metavar="KEY=VALUE", help="a label")
    parser.add_argument("--taint", type=_taint, action="append", default=[], metavar="KEY=VALUE:EFFECT", help="a taint")
    parser.add_argument("--zones", type=whole(), default=3, help="zones that nodes are dealt out to; 0 for none")
    parser.add_argument("--nodes-per-rack", type=whole(), default=0, help="size of a rack; 0 for no racks")
    parser.add_argument("--start-seconds", type=seconds, default=0.5, help="from binding to running")
    parser.add_argument("--termination-seconds", type=seconds, default=1.0, help="from deletion to the end")
    parser.add_argument("--heartbeat-seconds", type=seconds, default=20.0, help="between two heartbeats of a node")
    return parser.parse_args(arguments)


def template_of(given: argparse.Namespace) -> NodeTemplate:
    """Turn the arguments into a template."""
    return NodeTemplate(
        prefix=given.prefix,
        cpu=given.cpu,
        memory=given.memory,
        pods=given.pods,
        resources=dict(given.resource),
        labels=dict(given.label),
        taints=tuple(given.taint),
        zones=given.zones,
        nodes_per_rack=given.nodes_per_rack,
    )


def _resource(text: str) -> tuple[str, str]:
    name, value = pair(text)
    return name, quantity(value)


def _taint(text: str) -> dict[str, str]:
    rest, _, effect = text.rpartition(":")
    if effect not in EFFECTS or not rest:
        raise argparse.ArgumentTypeError(f"got {text!r}, expected KEY=VALUE:EFFECT, with one of {', '.join(EFFECTS)}")
    key, _, value = rest.partition("=")
    return {"key": key, "value": value, "effect": effect}


def main(arguments: Sequence[str] | None = None) -> int:
    """Keep nodes alive until a signal comes."""
    given = read(arguments)

    async def run() -> None:
        await run_hollow_nodes(
            cluster=ClusterOptions(kubeconfig=given.kubeconfig, context=given.context),
            count=given.nodes,
            template=template_of(given),
            options=KubeletOptions(start_seconds=given.start_seconds, termination_seconds=given.termination_seconds),
            heartbeat_seconds=given.heartbeat_seconds,
        )

    try:
        until_signal(run)
    except ConfigError as error:
        print(f"hollow nodes: {error}", file=sys.stderr)  # noqa: T201 - what a command line is for
        return _UNUSABLE
    return 0


if __name__ == "__main__":
    sys.exit(main())
