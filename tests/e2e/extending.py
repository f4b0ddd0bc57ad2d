"""A small extender: an HTTP server in a thread that a test tells what to answer, and that can die and come back."""

import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from tests.e2e.ports import free_ports

__all__ = ["Extender"]

Answers = Callable[[Any], Any]


class Extender:
    """Answers verbs on one port, for as long as it lives; used as a context manager."""

    def __init__(self, **answers: Answers) -> None:
        """Answer each verb by a function of the body."""
        self.answers = answers
        self.asked: list[tuple[str, Any]] = []
        (self._port,) = free_ports(1)
        self._server: ThreadingHTTPServer | None = None
        self._thread: threading.Thread | None = None
        self.released = threading.Event()
        """Lets go who hangs (`hang`)."""

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self._port}/v1"

    def count(self, verb: str) -> int:
        """Return how often a verb was asked."""
        return sum(asked == verb for asked, _ in list(self.asked))

    def hang(self, _: Any) -> Any:
        """Answer when the test is over."""
        self.released.wait()
        return {}

    def start(self) -> None:
        """Live."""
        extender = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                verb = self.path.rpartition("/")[2]
                extender.asked.append((verb, body))
                answer = json.dumps(extender.answers[verb](body)).encode()
                try:
                    self.send_response(200)
                    self.send_header("Content-Length", str(len(answer)))
                    self.end_headers()
                    self.wfile.write(answer)
                except OSError:
                    return  # who asked is gone

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", self._port), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()

    def die(self) -> None:
        """Stop: the port is closed."""
        server, thread = self._server, self._thread
        self._server = self._thread = None
        if server is not None and thread is not None:
            server.shutdown()
            thread.join()
            server.server_close()

    def __enter__(self) -> Self:
        """Live."""
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Die."""
        self.released.set()
        self.die()
