"""Lists anew: who is about to refuse something looks at what is there by then."""

import asyncio
import json
from typing import Any, cast

from pyroclast.controllers.admission.cluster import AdmissionCluster
from pyroclast.kube.api.client import Client
from pyroclast.kube.api.errors import ApiError


class Slow:
    """A client whose answers to lists come when the test says so."""

    def __init__(self) -> None:
        self.asked: list[asyncio.Future[bytes]] = []
        self.is_asked = asyncio.Event()

    async def request(self, *_: object, **__: object) -> bytes:
        """Wait for the test."""
        self.asked.append(asyncio.get_running_loop().create_future())
        self.is_asked.set()
        return await self.asked[-1]

    async def next(self) -> asyncio.Future[bytes]:
        """Wait for a question; return where its answer goes."""
        await self.is_asked.wait()
        self.is_asked.clear()
        return self.asked[-1]


def queues(*names: str) -> bytes:
    """A list of queues."""
    items = [{"metadata": {"name": name}, "spec": {}} for name in names]
    return json.dumps({"metadata": {"resourceVersion": "1"}, "items": items}).encode()


async def test_a_list_that_began_before_the_question_does_not_answer_it() -> None:
    """It may lack the queue that came in between; who asks meanwhile shares the next one."""
    client: Any = Slow()
    cluster = AdmissionCluster(cast("Client", client))
    async with asyncio.timeout(30), asyncio.TaskGroup() as tasks:
        first = tasks.create_task(cluster.fresh())
        list_before = await client.next()
        later = [tasks.create_task(cluster.fresh()) for _ in range(3)]
        await asyncio.sleep(0)
        list_before.set_result(queues("old"))
        (await client.next()).set_result(queues("new", "old"))
    names = [[queue.metadata.name for queue in found.queues()] for task in (first, *later) if (found := task.result())]
    assert names == [["old"], *[["new", "old"]] * 3]
    assert len(client.asked) == 2


async def test_a_server_that_does_not_answer_is_not_waited_for_twice() -> None:
    """The question has seconds."""
    client: Any = Slow()
    cluster = AdmissionCluster(cast("Client", client))
    async with asyncio.timeout(30), asyncio.TaskGroup() as tasks:
        asked = [tasks.create_task(cluster.fresh())]
        only_list = await client.next()
        asked.append(tasks.create_task(cluster.fresh()))
        await asyncio.sleep(0)
        only_list.set_exception(ApiError(503, "ServiceUnavailable", "not now"))
    assert [task.result() for task in asked] == [None, None]
    assert len(client.asked) == 1
