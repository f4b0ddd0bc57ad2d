"""An extender: keeps pods off drained racks, and fills the racks in the order of their names.

python extender.py PORT DRAINED-RACK …
"""

import json
import sys
from collections.abc import Collection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

RACK = "example.com/rack"


def rack_of(node: Any) -> str:
    """Return the rack of a node."""
    return str(node["Node"]["metadata"].get("labels", {}).get(RACK, ""))


def batch_predicate(body: Any, drained: Collection[str]) -> Any:
    """Refuse the nodes of drained racks; code 3 means that no eviction helps."""
    nodes = [node["Name"] for node in body["nodes"] if rack_of(node) in drained]
    return {"verdicts": {name: {"status": "rack drained", "code": 3} for name in nodes}}


def prioritize(body: Any, _: Collection[str]) -> Any:
    """Score nodes by their rack; the first name is best."""
    racks = sorted({rack_of(node) for node in body["nodes"]}, reverse=True)
    return {"nodeScore": {node["Name"]: 10 * racks.index(rack_of(node)) for node in body["nodes"]}}


VERBS = {"batchPredicate": batch_predicate, "prioritize": prioritize}


def server(port: int, drained: Collection[str]) -> ThreadingHTTPServer:
    """Return a server of these verbs; port 0 selects a free one."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            verb = VERBS.get(self.path.rpartition("/")[2])
            answer = b"" if verb is None else json.dumps(verb(body, drained)).encode()
            self.send_response(404 if verb is None else 200)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

    return ThreadingHTTPServer(("127.0.0.1", port), Handler)


if __name__ == "__main__":
    server(int(sys.argv[1]), sys.argv[2:]).serve_forever()
