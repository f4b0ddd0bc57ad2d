"""`pyroclast explain`: what it asks a scheduler, and what it prints of the answer."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from pyroclast.scheduler.cli.commands.explain import main
from tests.unit.scheduler.cases import answer_of, group, node, pod


def example() -> list[dict[str, Any]]:
    """Return the explanation of a pod that was placed."""
    objects = {
        "queues": [{"metadata": {"name": "default"}, "spec": {"weight": 1}}],
        "nodes": [node("n1"), node("n2", cpu=1)],
        "podGroups": [group("g")],
        "pods": [pod("p", "g", cpu=2)],
    }
    found: list[dict[str, Any]] = answer_of({"objects": objects, "explain": ["default/p"]})["rounds"][0]["explained"]
    return found


class Scheduler(BaseHTTPRequestHandler):
    """Answers as a scheduler, and notes what it is asked."""

    answer: tuple[int, bytes] = (200, b"[]")
    asked: list[tuple[str, str]] = []  # noqa: RUF012  # one for all requests of a test

    def do_GET(self) -> None:
        """Answer."""
        self.asked.append((self.path, self.headers.get("Authorization", "")))
        self.send_response(self.answer[0])
        self.end_headers()
        self.wfile.write(self.answer[1])

    def log_message(self, *_: Any) -> None:
        """Log nothing."""


@pytest.fixture
def url() -> Iterator[str]:
    """The address of a scheduler."""
    Scheduler.asked = []
    server = HTTPServer(("127.0.0.1", 0), Scheduler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_tables_of_a_scheduler_are_printed(url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The request has the pod, the number of nodes and the token; the text names the scores and the refusals."""
    Scheduler.answer = (200, json.dumps(example()).encode())
    token = tmp_path / "token"
    token.write_text("secret\n")
    assert main(["p", "-n", "team", "--server", url, "--nodes", "7", "--token-file", str(token)]) == 0

    assert Scheduler.asked == [("/debug/explain?pod=team%2Fp&nodes=7", "Bearer secret")]
    text = capsys.readouterr().out
    assert "default/p: placed on n1 by allocate (cycle 1)" in text
    assert "NODEORDER: LEAST REQUESTED" in text
    assert "Insufficient cpu" in text


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ((404, b"pod 'a/p' was not in the last cycle; ask for namespace/name\n"), "no pod a/p, and no job"),
        ((404, b"404: Not Found"), "answered 404"),
        ((503, b"other examinations are waiting; try again\n"), "answered 503: other examinations are waiting"),
        ((200, b"{}"), "something else than examinations"),
    ],
)
def test_what_a_scheduler_refuses_is_an_error(
    url: str, answer: tuple[int, bytes], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The exit status is 1, and the message says why."""
    Scheduler.answer = answer

    assert main(["a/p", "--server", url]) == 1
    assert message in capsys.readouterr().err


def test_a_scheduler_that_does_not_answer_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    """The message has the address."""
    assert main(["p", "--server", "http://127.0.0.1:1"]) == 1
    assert "http://127.0.0.1:1: " in capsys.readouterr().err
    assert main(["p", "--server", "ftp://x"]) == 1
    assert "expected an address" in capsys.readouterr().err


def test_json_is_printed_as_it_came(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    """With `-o json` the answer is for programs."""
    Scheduler.answer = (200, json.dumps(example()).encode())
    assert main(["p", "--server", url, "-o", "json"]) == 0

    (found,) = json.loads(capsys.readouterr().out)
    assert found == example()[0]
