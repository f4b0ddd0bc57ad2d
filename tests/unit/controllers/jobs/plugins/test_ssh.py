import base64
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_ssh_public_key

from pyroclast.controllers.jobs.plugins.plugin import OwnedKey
from pyroclast.controllers.jobs.plugins.ssh import KeyPair, Ssh, new_key_pair
from tests.unit.controllers.jobs.plugins.objects import job, pod, task

SECRET = OwnedKey("Secret", "train-ssh")


def made(arguments: list[str], *tasks: dict[str, Any], existing: dict[str, Any] | None = None) -> dict[str, str]:
    """Return the Secret's entries, decoded, where a new pair is `new`."""
    plugin = Ssh(arguments, make_keys=lambda: KeyPair(private="new", public="new.pub\n"))
    (owned,) = plugin.objects(job(*tasks), {SECRET: existing} if existing else {})
    return {key: base64.b64decode(value).decode() for key, value in owned.manifest["data"].items()}


def test_the_configuration_lists_all_hosts() -> None:
    """Every pod is a host, none is asked about; pods with a common hostname are one."""
    config = made(["--ssh-port=2222"], task("master"), task("worker", 2), task("one", 3, hostname="h", subdomain="s"))

    assert config["config"] == (
        "StrictHostKeyChecking no\nUserKnownHostsFile /dev/null\n"
        "Host train-master-0\n  HostName train-master-0.train\n  Port 2222\n"
        "Host train-worker-0\n  HostName train-worker-0.train\n  Port 2222\n"
        "Host train-worker-1\n  HostName train-worker-1.train\n  Port 2222\n"
        "Host h\n  HostName h.s\n  Port 2222\n"
    )


def test_a_new_secret_has_a_new_pair() -> None:
    """The public key lets its holder in."""
    data = made([], task("worker"))

    assert (data["id_rsa"], data["id_rsa.pub"], data["authorized_keys"]) == ("new", "new.pub\n", "new.pub\n")


def test_the_pair_is_kept_and_hosts_are_kept_true() -> None:
    """Pods that run hold the old key: a new one would lock them out. Hosts of a scaled job are added."""
    old = {"data": {key: base64.b64encode(b"old").decode() for key in ("id_rsa", "id_rsa.pub", "authorized_keys")}}

    data = made([], task("worker", 2), existing=old)

    assert (data["id_rsa"], data["id_rsa.pub"], data["authorized_keys"]) == ("old", "old", "old")
    assert "train-worker-1.train" in data["config"]


def test_a_users_pair_holds() -> None:
    """Keys given as arguments are used as they are."""
    data = made(["--ssh-private-key=secret", "--ssh-public-key=open"], task("worker"))

    assert (data["id_rsa"], data["id_rsa.pub"], data["authorized_keys"]) == ("secret", "open", "open")


def test_a_made_pair_is_rsa_of_2048_bits() -> None:
    """In PKCS #1, which old clients read too, and with the public key that belongs to it."""
    pair = new_key_pair()
    private = load_pem_private_key(pair.private.encode(), password=None)

    assert pair.private.startswith("-----BEGIN RSA PRIVATE KEY-----\n")
    assert isinstance(private, rsa.RSAPrivateKey)
    assert private.key_size == 2048
    public = load_ssh_public_key(pair.public.encode())
    assert isinstance(public, rsa.RSAPublicKey)
    assert private.public_key().public_numbers() == public.public_numbers()


@pytest.mark.parametrize(("path", "mode"), [("/root/.ssh", 0o600), ("/home/me/.ssh", 0o644)])
def test_all_containers_mount_the_keys(path: str, mode: int) -> None:
    """For root in root's home; otherwise for any user elsewhere."""
    plugins = {"ssh": [f"--ssh-key-file-path={path}"]}
    spec = pod(job(task("worker", initContainers=[{"name": "init"}]), plugins=plugins), "worker")["spec"]

    (volume,) = spec["volumes"]
    assert volume["name"] == "train-ssh"
    assert volume["secret"]["secretName"] == "train-ssh"
    assert volume["secret"]["defaultMode"] == mode
    assert volume["secret"]["items"] == [
        {"key": key, "path": f".ssh/{key}"} for key in ("id_rsa", "id_rsa.pub", "authorized_keys", "config")
    ]
    for container in (*spec["containers"], *spec["initContainers"]):
        assert container["volumeMounts"] == [{"name": "train-ssh", "mountPath": path, "subPath": ".ssh"}]


@pytest.mark.parametrize("port", [0, 65536, -1])
def test_what_is_no_port_counts_as_22(port: int) -> None:
    """The owner gets an event."""
    arguments = [f"--ssh-port={port}"]

    assert "  Port 22\n" in made(arguments, task("worker"))["config"]
    (fault,) = Ssh(arguments).faults(job())
    assert (fault.value, fault.is_fatal) == (str(port), False)
