"""Names that servers refuse, and in which words: of services, namespaces, and inside pods."""

from typing import Any

import pytest

from tests.e2e.cluster import Cluster
from tests.e2e.rawhttp import Client

TOO_LONG, DOTS = "must be no more than 63 characters", "must not contain dots"
NO_LABEL = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with "
    "an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
WRONG: list[tuple[str, list[str]]] = [
    ("a.b", [DOTS]),
    ("a" * 64, [TOO_LONG]),
    ("a" * 64 + ".b", [TOO_LONG, DOTS]),
    ("A", [NO_LABEL]),
    ("A.b", [NO_LABEL]),
    ("-a", [NO_LABEL]),
    ("a_b", [NO_LABEL]),
]


@pytest.fixture(scope="module")
def client(cluster: Cluster) -> Client:
    """The administrator."""
    return Client(cluster)


def told(field: str, name: str, faults: list[str]) -> str:
    """Faults as a server writes them: in brackets, where they are several."""
    each = [f'{field}: Invalid value: "{name}": {fault}' for fault in faults]
    return each[0] if len(each) == 1 else f"[{', '.join(each)}]"


def refusal_of_pod(client: Client, **spec: Any) -> str:
    """What is said against a pod."""
    spec.setdefault("containers", [{"name": "c", "image": "i"}])
    answer = client.send("POST", "/api/v1/namespaces/default/pods", {"metadata": {"name": "named"}, "spec": spec})
    code, _, message = answer.refusal
    assert code == 422
    return message.removeprefix('Pod "named" is invalid: ')


@pytest.mark.parametrize(("name", "faults"), WRONG, ids=[name[-9:] for name, _ in WRONG])
def test_names_that_are_labels(client: Client, name: str, faults: list[str]) -> None:
    """Services, hosts, volumes and containers: without dots, at most 63 characters."""
    service = {"metadata": {"name": name}, "spec": {"clusterIP": "None"}}
    made = client.send("POST", "/api/v1/namespaces/default/services", service)

    assert made.refusal == (422, "Invalid", f'Service "{name}" is invalid: {told("metadata.name", name, faults)}')
    assert refusal_of_pod(client, hostname=name) == told("spec.hostname", name, faults)
    assert refusal_of_pod(client, subdomain=name) == told("spec.subdomain", name, faults)
    volumes = [{"name": name, "emptyDir": {}}]
    assert refusal_of_pod(client, volumes=volumes) == told("spec.volumes[0].name", name, faults)
    containers = [{"name": name, "image": "i"}]
    assert refusal_of_pod(client, containers=containers) == told("spec.containers[0].name", name, faults)


def test_volumes_and_their_mounts_belong_together(client: Client) -> None:
    """A name stands for one volume, and a mount names one that there is."""
    containers = [{"name": "c", "image": "i", "volumeMounts": [{"name": "v", "mountPath": "/v"}]}]
    volumes = [{"name": "w", "emptyDir": {}}, {"name": "w", "emptyDir": {}}]

    assert refusal_of_pod(client, containers=containers, volumes=volumes) == (
        '[spec.volumes[1].name: Duplicate value: "w", spec.containers[0].volumeMounts[0].name: Not found: "v"]'
    )
