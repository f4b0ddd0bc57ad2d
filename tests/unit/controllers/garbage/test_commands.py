"""Commands without a target are deleted with an event; those for other objects stay."""

from pyroclast.controllers.garbage.reconciler import build
from pyroclast.controllers.runtime.options import ControllerOptions
from pyroclast.kube.api.resources import COMMANDS
from tests.unit.controllers.ground import Ground

PATH = COMMANDS.collection("default")
OTHERS = {"apiVersion": "example.com/v1", "kind": "Train", "name": "night", "uid": "u"}


async def test_a_command_without_a_target_is_deleted_with_a_reason(ground: Ground) -> None:
    """One for a kind of others stays: they may obey it."""
    head = {"apiVersion": COMMANDS.api_version, "kind": COMMANDS.kind}
    await ground.post(PATH, {**head, "metadata": {"name": "aimless"}, "action": "AbortJob"})
    await ground.post(PATH, {**head, "metadata": {"name": "others"}, "action": "Depart", "target": OTHERS})

    async def is_gone() -> bool:
        return await ground.names(PATH) == ["others"]

    async def told() -> list[tuple[str, str, str]]:
        events = (await ground.get("/api/v1/namespaces/default/events"))["items"]
        return [(each["involvedObject"]["name"], each["reason"], each["message"]) for each in events]

    operator = ground.operator()
    build(operator, ControllerOptions())
    async with ground.working(operator):
        await ground.soon(is_gone)
        await ground.soon(told)
        await operator.idle()

    message = "AbortJob is ignored: target is missing, expected a Job or a Queue"
    assert await told() == [("aimless", "InvalidCommand", message)]
    assert await ground.names(PATH) == ["others"]
