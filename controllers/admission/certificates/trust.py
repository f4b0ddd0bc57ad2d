"""Trust: keeps the `caBundle` of our webhook configurations up to date.

The configurations belong to the chart. Only this field is written, and only where it differs. A configuration that does
not exist is skipped.
"""

import base64
from collections.abc import Iterator, Mapping
from typing import Any, Final

import structlog

from pyroclast.kube.client import Client, MediaType
from pyroclast.kube.errors import ApiError

__all__ = ["update_ca_bundles"]

_ROOT: Final = "/apis/admissionregistration.k8s.io/v1"

_log = structlog.get_logger(__name__)


async def update_ca_bundles(client: Client, name: str, authorities: bytes) -> None:
    """Write the CA bundle into the mutating and the validating configuration of a name.

    Raises:
        ApiError: The API server refused, or did not answer.
    """
    bundle = base64.b64encode(authorities).decode()
    for plural in ("mutatingwebhookconfigurations", "validatingwebhookconfigurations"):
        path = f"{_ROOT}/{plural}/{name}"
        try:
            configuration = await client.request_json("GET", path)
        except ApiError as error:
            if error.is_not_found:
                continue
            raise
        patches = list(_patches(configuration, bundle))
        if patches:
            await client.request_json("PATCH", path, body=patches, media_type=MediaType.JSON_PATCH)
            _log.info("ca_bundle_written", kind=plural, name=name)


def _patches(configuration: Mapping[str, Any], bundle: str) -> Iterator[dict[str, Any]]:
    """Yield the operations, after a test that the list has not changed meanwhile."""
    wrong = [
        number
        for number, webhook in enumerate(configuration.get("webhooks") or ())
        if (webhook.get("clientConfig") or {}).get("caBundle") != bundle
    ]
    if wrong:
        version = configuration["metadata"]["resourceVersion"]
        yield {"op": "test", "path": "/metadata/resourceVersion", "value": version}
    for number in wrong:
        yield {"op": "add", "path": f"/webhooks/{number}/clientConfig/caBundle", "value": bundle}
