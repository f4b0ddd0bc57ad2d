"""`python -m emulator.hollow`: hollow nodes as a process of their own."""

import argparse
import asyncio
import contextlib
import signal
import sys

import uvloop

from emulator.hollow.kubelets import KubeletOptions
from emulator.hollow.run import run_hollow_nodes
from emulator.hollow.template import NodeTemplate
from kube.configuration import ClusterOptions


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m emulator.hollow", description="Nodes that exist in the API alone.")
    parser.add_argument("--kubeconfig", default="", help="kubeconfig file; else in-cluster or $KUBECONFIG")
    parser.add_argument("--context", default="", help="context of the kubeconfig file")
    parser.add_argument("--nodes", type=int, default=10, help="how many nodes to register")
    parser.add_argument("--prefix", default="hollow", help="nodes are called PREFIX-NUMBER")
    parser.add_argument("--cpu", default="32", help="CPUs of a node")
    parser.add_argument("--memory", default="256Gi", help="memory of a node")
    parser.add_argument("--pods", default="110", help="most pods of a node")
    parser.add_argument("--resource", action="append", default=[], metavar="NAME=AMOUNT", help="a further resource")
    parser.add_argument("--label", action="append", default=[], metavar="KEY=VALUE", help="a label")
    parser.add_argument("--taint", action="append", default=[], metavar="KEY=VALUE:EFFECT", help="a taint")
    parser.add_argument("--zones", type=int, default=3, help="zones that nodes are dealt out to; 0 for none")
    parser.add_argument("--nodes-per-rack", type=int, default=0, help="size of a rack; 0 for no racks")
    parser.add_argument("--start-seconds", type=float, default=0.5, help="from binding to running")
    parser.add_argument("--termination-seconds", type=float, default=1.0, help="from deletion to the end")
    parser.add_argument("--heartbeat-seconds", type=float, default=20.0, help="between two heartbeats of a node")
    return parser.parse_args()


def template_of(given: argparse.Namespace) -> NodeTemplate:
    """Turn the arguments into a template."""
    return NodeTemplate(
        prefix=given.prefix,
        cpu=given.cpu,
        memory=given.memory,
        pods=given.pods,
        resources=dict(_pair(text) for text in given.resource),
        labels=dict(_pair(text) for text in given.label),
        taints=tuple(_taint(text) for text in given.taint),
        zones=given.zones,
        nodes_per_rack=given.nodes_per_rack,
    )


def _pair(text: str) -> tuple[str, str]:
    key, _, value = text.partition("=")
    return key, value


def _taint(text: str) -> dict[str, str]:
    pair, _, effect = text.rpartition(":")
    key, value = _pair(pair)
    return {"key": key, "value": value, "effect": effect}


async def run(given: argparse.Namespace) -> None:
    """Keep nodes alive until a signal comes."""
    loop = asyncio.get_running_loop()
    task = loop.create_task(
        run_hollow_nodes(
            cluster=ClusterOptions(kubeconfig=given.kubeconfig, context=given.context),
            count=given.nodes,
            template=template_of(given),
            options=KubeletOptions(start_seconds=given.start_seconds, termination_seconds=given.termination_seconds),
            heartbeat_seconds=given.heartbeat_seconds,
        )
    )
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, task.cancel)
    with contextlib.suppress(asyncio.CancelledError):
        await task


def main() -> int:
    """Start the nodes."""
    uvloop.run(run(arguments()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
