"""The type checker refuses a function that a point does not take, and an option that there is not."""

import re
import subprocess
import sys
from pathlib import Path

from pyroclast.framework.extension.contract import Registered, RegistrationOptions

ROOT = Path(__file__).parents[2]

RIGHT = """
from pyroclast.framework.extension import contract
from pyroclast.framework.extension.contract import Locality
from pyroclast.framework.extension.registration import Extensions
from pyroclast.framework.state.jobs import SessionJob
from pyroclast.framework.state.nodes import NodeColumns, NodeView
from pyroclast.model.arrays import FloatArray
from pyroclast.model.tasks import Task


def of_job(job: SessionJob) -> int:
    return -job.priority


def of_task(task: Task) -> str:
    return task.name


def of_node(task: Task, node: NodeView) -> float:
    return float(len(node.tasks))


def over_nodes(task: Task, nodes: NodeColumns) -> FloatArray | None:
    return None


def register(extensions: Extensions) -> None:
    extensions.register(contract.JOB_ORDER, "own", of_job)
    extensions.register(contract.TASK_ORDER, "own", of_task, within_job=True)
    extensions.register(contract.NODE_ORDER, "own", of_node)
    extensions.register(contract.NODE_ORDER, "own", over_nodes, locality=Locality.FACTS, part="other")
"""
WRONG = (
    'extensions.register(contract.JOB_ORDER, "own", of_task)',
    'extensions.register(contract.NODE_ORDER, "own", of_job)',
    'extensions.register(contract.JOB_READY, "own", of_task)',
    'extensions.register(contract.JOB_ORDER, "own", of_job, locallity=None)',
    'extensions.register(contract.TASK_ORDER, "own", of_task, within_job="yes")',
)


def test_the_type_checker_refuses_what_a_point_does_not_take(tmp_path: Path) -> None:
    """Each wrong line gets an error, the right ones none."""
    stub = tmp_path / "stub.py"
    stub.write_text(RIGHT + "".join(f"    {line}\n" for line in WRONG))

    # A process of its own: mypy raises the recursion limit of the one it runs in, which other tests rely on.
    command = [sys.executable, "-m", "mypy", "--config-file", "pyproject.toml", "--follow-imports=silent", str(stub)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    told, faults = done.stdout, done.stderr

    lines = {int(number) for number in re.findall(r"stub\.py:(\d+): error", told)}
    first = RIGHT.count("\n") + 1
    assert (faults, lines) == ("", set(range(first, first + len(WRONG))))


def test_what_is_registered_has_a_field_for_each_option() -> None:
    """The options are documented once, and kept by the same names and types."""
    kept = {
        name: kind for name, kind in Registered.__annotations__.items() if name not in ("plugin", "function", "part")
    }
    options = dict(RegistrationOptions.__annotations__)

    assert kept.pop("reasons_of") is not None
    assert kept.pop("reasons") != options.pop("reasons")  # a function of reasons is kept apart
    assert kept == options
