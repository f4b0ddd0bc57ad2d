"""A bare client: it binds pods as fast as it can while it holds a pod watch, and does nothing else.

`python -m benchmarks.bareclient KUBECONFIG NAMESPACE NODES` lists the namespace's pods, prints `ready`, waits for a
line on its standard input, and binds them to nodes in turn. Its decisions cost nothing, so its rate is the maximum of
the API server and a client together.
"""

import asyncio
import sys
from contextlib import suppress

import aiohttp
import msgspec
import uvloop

from pyroclast.kube.api.client import Client
from pyroclast.kube.api.configuration import ClusterOptions, connect

CONNECTIONS = 32


class _Metadata(msgspec.Struct):
    name: str


class _Pod(msgspec.Struct):
    metadata: _Metadata


class _Pods(msgspec.Struct):
    items: list[_Pod]


async def watch(client: Client, path: str) -> None:
    """Read a pod watch, line by line, and decode each event as a scheduler must."""
    decode = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
    async with client.stream(path, params={"watch": "1"}, silence_seconds=600.0) as lines:
        while line := await lines.readline():
            decode(line)


async def main(kubeconfig: str, namespace: str, nodes: int) -> None:
    """Bind all pods of a namespace."""
    cluster = await connect(ClusterOptions(kubeconfig=kubeconfig))
    pods = f"/api/v1/namespaces/{namespace}/pods"
    async with Client(cluster, component="bare", connections=CONNECTIONS) as client:
        listed = msgspec.json.decode(await client.request("GET", pods), type=_Pods)
        watching = asyncio.create_task(watch(client, "/api/v1/pods"))
        requests = iter(
            [
                (
                    f"{cluster.server}{pods}/{pod.metadata.name}/binding",
                    b'{"metadata":{"name":"%s"},"target":{"kind":"Node","name":"node-%05d"}}'
                    % (pod.metadata.name.encode(), number % nodes),
                )
                for number, pod in enumerate(listed.items)
            ]
        )
        print("ready", flush=True)
        await asyncio.to_thread(sys.stdin.readline)
        connector = aiohttp.TCPConnector(limit=CONNECTIONS, ssl=cluster.tls)
        async with aiohttp.ClientSession(connector=connector, headers={"Content-Type": "application/json"}) as session:

            async def bind() -> None:
                for url, body in requests:
                    async with session.post(url, data=body) as answer:
                        await answer.read()
                        answer.raise_for_status()

            await asyncio.gather(*(bind() for _ in range(CONNECTIONS)))
        watching.cancel()
        with suppress(asyncio.CancelledError):
            await watching


if __name__ == "__main__":
    uvloop.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
