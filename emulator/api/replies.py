"""An answer before its conversion to HTTP: body, code and headers."""

from dataclasses import dataclass, field

import msgspec
from aiohttp import web

from pyroclast.emulator.statuses import ApiError
from pyroclast.emulator.storage.store import encode

__all__ = ["Reply", "refusal"]

JSON = "application/json"
YAML = "application/yaml"


@dataclass(slots=True, kw_only=True)
class Reply:
    """One answer."""

    body: bytes
    code: int = 200
    content_type: str = JSON
    warnings: list[str] = field(default_factory=list)
    retry_after: int = 0

    def headers(self) -> list[tuple[str, str]]:
        """Return the headers except the length."""
        lines = [("Content-Type", self.content_type)]
        for text in self.warnings:
            quoted = text.replace("\\", "\\\\").replace('"', '\\"')
            lines.append(("Warning", f'299 - "{quoted}"'))
        if self.retry_after:
            lines.append(("Retry-After", str(self.retry_after)))
        return lines

    def as_yaml(self) -> "Reply":
        """The same answer in YAML."""
        self.body = msgspec.yaml.encode(msgspec.json.decode(self.body))
        self.content_type = YAML
        return self

    def response(self) -> web.Response:
        """The answer as aiohttp sends it."""
        response = web.Response(body=self.body, status=self.code, headers={"Content-Type": self.content_type})
        for name, value in self.headers()[1:]:
            response.headers.add(name, value)
        return response


def refusal(error: ApiError) -> Reply:
    """An error as its Status."""
    return Reply(body=encode(error.status()), code=error.code, retry_after=error.retry_after)
