"""`pyroclast explain NAME`: the scores of nodes by plugin for a pod, and which rule refuses which node.

It asks a running scheduler, or decides the cycles of a record again. `pyroclast simulate --explain` does the same for
objects from files.
"""

import argparse
import http.client
import json
import ssl
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlsplit

from pyroclast.framework.session.shadows.tracing import MOST_NODES
from pyroclast.model.errors import PyroclastError
from pyroclast.scheduler.cli.argument_types import positive, up_to
from pyroclast.scheduler.cli.file_errors import why
from pyroclast.scheduler.monitoring.examinations import DEFAULT_NODES, Explain, examination_json, examination_text
from pyroclast.scheduler.recording.replay import RecordError, replay

__all__ = ["main"]

EPILOG = """\
exit status:
  0  explained
  1  no such pod, or the scheduler does not answer
  2  the command line or the record cannot be used

A running scheduler needs --enable-pprof. It decides its last cycle once more for the answer.
"""
_SECONDS: Final = 60.0
"""Time that the scheduler has to answer."""
_MOST_BYTES: Final = 64 * 2**20
"""Maximum size of an answer."""


def main(arguments: Sequence[str]) -> int:
    """Explain the pods of a name."""
    given = _parser().parse_args(arguments)
    name = given.name if "/" in given.name else f"{given.namespace}/{given.name}"
    try:
        found = _from_record(given, name) if given.record else _from_server(given, name)
    except RecordError as error:
        print(f"pyroclast explain: {given.record}: {error}", file=sys.stderr)  # noqa: T201 - what a command line is for
        return 2
    except (OSError, http.client.HTTPException, PyroclastError) as error:
        reason = why(error) if isinstance(error, OSError) else error
        print(f"pyroclast explain: {given.record or given.server}: {reason}", file=sys.stderr)  # noqa: T201 - as above
        return 2 if given.record else 1
    if not found:
        print(f"pyroclast explain: no pod {name}, and no job of that name", file=sys.stderr)  # noqa: T201 - as above
        return 1
    if given.output == "json":
        print(json.dumps(found, indent=2))  # noqa: T201 - as above
    else:
        print("\n\n".join(map(examination_text, found)))  # noqa: T201 - as above
    return 0


def _from_record(given: Any, name: str) -> list[Mapping[str, Any]]:
    """Return the examinations of one cycle, or of the last one that has the pod."""
    explain = Explain(names=frozenset({name}), node_limit=given.nodes)
    found: list[Mapping[str, Any]] = []
    with Path(given.record).open("rb") as lines:
        for replayed in replay(lines, plugins_dir=given.plugins_dir, explain=explain):
            if given.cycle is None or replayed.cycle == given.cycle:
                found = [examination_json(each) for each in replayed.examinations] or found
    return found


def _from_server(given: Any, name: str) -> list[Mapping[str, Any]]:
    """Return the answer of a running scheduler; empty if it does not know the pod."""
    status, body = _get(given, f"/debug/explain?pod={quote(name, safe='')}&nodes={given.nodes}")
    if status == http.client.NOT_FOUND and b"pod " in body:
        return []
    if status != http.client.OK:
        raise PyroclastError(f"answered {status}: {body.decode(errors='replace').strip()[:500]}")
    found = json.loads(body)
    if not isinstance(found, list):
        raise PyroclastError("answered something else than examinations")
    return found


def _get(given: Any, path: str) -> tuple[int, bytes]:
    url = urlsplit(given.server if "//" in given.server else f"http://{given.server}")
    if url.scheme not in ("http", "https") or not url.hostname:
        raise PyroclastError("expected an address such as http://localhost:8080")
    connection: http.client.HTTPConnection
    if url.scheme == "https":
        context = ssl.create_default_context(cafile=given.certificate_authority or None)
        connection = http.client.HTTPSConnection(url.hostname, url.port, timeout=_SECONDS, context=context)
    else:
        connection = http.client.HTTPConnection(url.hostname, url.port, timeout=_SECONDS)
    headers = {}
    if given.token_file:
        headers["Authorization"] = f"Bearer {Path(given.token_file).read_text().strip()}"
    try:
        connection.request("GET", url.path.rstrip("/") + path, headers=headers)
        answer = connection.getresponse()
        body = answer.read(_MOST_BYTES + 1)
    finally:
        connection.close()
    if len(body) > _MOST_BYTES:
        raise PyroclastError(f"answered more than {_MOST_BYTES} bytes")
    return answer.status, body


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="pyroclast explain",
        description="Explain why a pod is on its node, or unscheduled: scores of each plugin, and the rule that "
        "refuses each node.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("name", metavar="NAME", help="pod, PodGroup or Job; a name or namespace/name")
    add("-n", "--namespace", default="default", help="namespace of a name without one")
    add("--server", default="http://localhost:8080", metavar="URL", help="--listen-address of the scheduler")
    add("--token-file", default="", metavar="FILE", help="bearer token for --metrics-authorization")
    add("--certificate-authority", default="", metavar="FILE", help="authority of an https server, PEM")
    add("--record", default="", metavar="FILE", help="record of `pyroclast scheduler --record` instead of a server")
    add("--cycle", type=positive, metavar="N", help="cycle of the record; by default the last one with the pod")
    add("--plugins-dir", default="", metavar="DIR", help="folder of plugins that replace those in the record")
    add("--nodes", type=up_to(MOST_NODES), default=DEFAULT_NODES, metavar="N", help="nodes in the table of scores")
    add("-o", "--output", choices=("table", "json"), default="table", help="output format")
    return parser
