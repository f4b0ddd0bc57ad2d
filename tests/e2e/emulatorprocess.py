"""The emulator as a process of its own, so that a test meets it as it meets a real server: through its port."""

import json
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import yaml

from tests.e2e.probes import answers_ok
from tests.e2e.processes import ServerProcess, wait_until

__all__ = ["clear_faults", "running_emulator", "tell_faults"]

READY_SECONDS = 60.0
"""Longest wait for the emulator; a second is usual."""


@contextmanager
def running_emulator(folder: Path, *flags: str) -> Iterator[tuple[str, Path]]:
    """Run an emulator for the length of a `with` block; give its address and its kubeconfig."""
    kubeconfig = folder / "kubeconfig"
    server = ServerProcess.of_module(
        "pyroclast.emulator", *("--port", "0", "--kubeconfig"), kubeconfig, *flags, log=folder / "emulator.log"
    )
    try:
        wait_until(lambda: address_in(kubeconfig) is not None, of=server, seconds=READY_SECONDS)
        url = address_in(kubeconfig) or ""
        wait_until(lambda: answers_ok(f"{url}/readyz"), of=server, seconds=READY_SECONDS)
        yield url, kubeconfig
    finally:
        server.stop()


def tell_faults(url: str, *words: dict[str, object]) -> None:
    """Arm faults of an emulator, in the words of `emulator.faults`."""
    request = urllib.request.Request(f"{url}/emulator/faults", data=json.dumps(list(words)).encode(), method="POST")
    ask(request)


def clear_faults(url: str) -> None:
    """Disarm all faults."""
    ask(urllib.request.Request(f"{url}/emulator/faults", method="DELETE"))


def ask(request: urllib.request.Request) -> None:
    """Send a request past the proxies of the environment."""
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=READY_SECONDS):
        pass


def address_in(kubeconfig: Path) -> str | None:
    """Return the server's address, or None while the file is not there in full."""
    try:
        config = yaml.safe_load(kubeconfig.read_text())
        return str(config["clusters"][0]["cluster"]["server"])
    except (FileNotFoundError, TypeError, KeyError, IndexError, yaml.YAMLError):
        return None
