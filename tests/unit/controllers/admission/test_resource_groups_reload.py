"""The file of resource groups is watched: a bad one leaves the last good one, and every fault is reported."""

import asyncio
from pathlib import Path

from structlog.testing import capture_logs

from pyroclast.controllers.admission.options import AdmissionOptions
from pyroclast.controllers.admission.process import Admission
from tests.unit.controllers.ground import Ground

GOOD = "resourceGroups: [{resourceGroup: gpu, schedulerName: other}]"
BAD = "resourceGroups: [{resourceGroup: a, object: {key: name}}, {resourceGroup: b, object: {key: label}}]"


class Hasty:
    """A clock without waiting."""

    def monotonic(self) -> float:
        """Tell no time."""
        return 0.0

    def wall(self) -> float:
        """Tell a time at which certificates hold."""
        return 1_800_000_000.0

    async def sleep(self, seconds: float) -> None:  # noqa: ARG002  the protocol's
        """Let others go on."""
        await asyncio.sleep(0.01)


def swap(file: Path, text: str) -> None:
    """Change a file atomically, as a mounted ConfigMap does: no reader sees half of it."""
    new = file.with_suffix(".new")
    new.write_text(text)
    new.replace(file)


async def test_an_invalid_edit_changes_nothing_and_reports_all_faults(ground: Ground, tmp_path: Path) -> None:
    """Until it is mended."""
    file = tmp_path / "groups.yaml"
    file.write_text(GOOD)
    options = AdmissionOptions(
        address="127.0.0.1:0", namespace="default", extra_names=("127.0.0.1",), resource_groups_file=str(file)
    )
    admission = Admission(ground.client, options, clock=Hasty())
    running = asyncio.create_task(admission.run())

    def groups() -> list[str]:
        return [group.name for group in admission._server.policy.resource_groups]

    try:
        await ground.soon(lambda: admission.trouble() is None)
        with capture_logs() as logs:
            swap(file, BAD)
            await ground.soon(lambda: any(line["event"] == "resource_groups_refused" for line in logs))
        (told,) = [line for line in logs if line["event"] == "resource_groups_refused"]
        assert len(told["faults"]) == 2
        assert groups() == ["gpu"]

        swap(file, GOOD.replace("gpu", "tpu"))
        await ground.soon(lambda: groups() == ["tpu"])
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
