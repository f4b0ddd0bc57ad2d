"""Completion of command lines."""

import subprocess
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

from pyroclast.scheduler.cli.commands.vcctl.completion import SCRIPTS, candidates
from pyroclast.scheduler.cli.main import COMMANDS
from tests.unit.scheduler.vcctl.conftest import GROUPS, Person

PYPROJECT = Path(__file__).parents[4] / "pyproject.toml"


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["qu"], ["queue", "quota"]),
        (["quota", ""], ["get", "list"]),
        (["queue", ""], ["close", "create", "delete", "get", "list", "open"]),
        (["job", "s"], ["suspend"]),
        (["queue", "list", "--no"], ["--no-headers"]),
        (["queue", "list", "-o", ""], ["json", "name", "wide", "yaml"]),
        (["queue", "create", "x", "--dequeue-strategy", "f"], ["fifo"]),
        (["queue", "nonsense", ""], []),
        (["nonsense", ""], []),
        (["version", ""], []),
    ],
)
def test_words(words: list[str], found: list[str]) -> None:
    """Commands, actions, flags and their values are known without a cluster."""
    assert candidates(words, COMMANDS) == found


def test_everything_may_come_first() -> None:
    """An empty line may become any command."""
    assert candidates([], COMMANDS) == sorted(COMMANDS)


async def test_names_come_from_the_cluster(person: Person) -> None:
    """Queues are named as they are."""
    for name in ("research", "retail", "other"):
        await person.makes(f"{GROUPS}/queues", "Queue", name)

    said = await person.types("completion", "words", "queue", "get", "re")

    assert said.out.splitlines() == ["research", "retail"]


async def test_an_unreachable_cluster_completes_nothing(person: Person) -> None:
    """Nothing is printed that the shell would take for a word."""
    said = await person.types("completion", "words", "queue", "get", "--server", "http://127.0.0.1:1", "re")

    assert (said.status, said.out, said.err) == (0, "", "")


async def test_scripts(person: Person) -> None:
    """Each shell has its own, which asks the program."""
    for shell, script in SCRIPTS.items():
        said = await person.types("completion", shell)
        assert said.out == script.rstrip("\n")
        assert "pyroclast completion words" in said.out


async def test_an_unknown_shell(person: Person) -> None:
    """The known ones are named."""
    said = await person.types("completion", "tcsh")

    assert said.status == 2
    assert "bash" in said.err


def test_bash_reads_its_script() -> None:
    """The script is sound, and completes by what the program answers."""
    answer = 'pyroclast() { [ "$1 $2 $3 $4" = "completion words queue cl" ] && echo close; }\n'
    press = "COMP_WORDS=(pyroclast queue cl); COMP_CWORD=2; _pyroclast; echo ${COMPREPLY[0]}"

    finished = subprocess.run(
        ["bash", "-c", answer + SCRIPTS["bash"] + press], capture_output=True, text=True, check=True
    )

    assert finished.stdout == "close\n"


def test_kubectl_finds_its_plugin() -> None:
    """The scripts that are installed lead to functions that are there."""
    scripts = tomllib.loads(PYPROJECT.read_text())["project"]["scripts"]

    assert {"pyroclast", "kubectl-pyroclast", "kubectl_complete-pyroclast"} <= scripts.keys()
    for target in scripts.values():
        module, _, name = target.partition(":")
        assert callable(getattr(import_module(module), name))
