"""Plugin ssh: pods of a Job can log in to each other without a password.

A Secret holds one key pair for all pods and a configuration with all hosts; it is mounted as the `.ssh` of each
container. The pair is created once and stays while the Secret exists. The hosts are updated.
"""

import base64
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final, NamedTuple

from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from pyroclast.controllers.jobs.plugins.containers import add_volume, all_containers, mount, volume_name
from pyroclast.controllers.jobs.plugins.flags import flag, parse
from pyroclast.controllers.jobs.plugins.hosts import hosts_of
from pyroclast.controllers.jobs.plugins.plugin import Json, Owned, OwnedKey, PluginFault, owned_metadata
from pyroclast.model.api.batch import Job, TaskSpec

__all__ = ["KeyPair", "Ssh", "new_key_pair"]

_HOME: Final = "/root/.ssh"
_FOLDER: Final = ".ssh"
_PRIVATE, _PUBLIC, _AUTHORIZED, _CONFIG = "id_rsa", "id_rsa.pub", "authorized_keys", "config"
_DEFAULT_PORT: Final = 22
_HIGHEST_PORT: Final = 65535

_BITS: Final = 2048
_EXPONENT: Final = 65537


class KeyPair(NamedTuple):
    """A private key and its line in `authorized_keys`."""

    private: str
    """PEM, PKCS #1."""
    public: str


def new_key_pair() -> KeyPair:
    """Generate a key pair."""
    key = rsa.generate_private_key(public_exponent=_EXPONENT, key_size=_BITS)
    private = key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())
    public = key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
    return KeyPair(private=private.decode(), public=f"{public.decode()}\n")


@dataclass(frozen=True, slots=True, kw_only=True)
class SshFlags:
    """Flags of ssh."""

    key_file_path: str = flag("ssh-key-file-path", _HOME)
    """Directory of the keys in containers. Outside of root's home the keys are readable by all users."""
    private_key: str = flag("ssh-private-key", "")
    """Private key to use, instead of a generated one."""
    public_key: str = flag("ssh-public-key", "")
    """Public key that belongs to it."""
    port: int = flag("ssh-port", _DEFAULT_PORT)
    """Port of the ssh servers. An invalid port counts as 22."""


class Ssh:
    """Mounts a common key pair into the pods of a Job."""

    name: ClassVar[str] = "ssh"
    is_recorded: ClassVar[bool] = True

    def __init__(self, arguments: Sequence[str], *, make_keys: Callable[[], KeyPair] = new_key_pair) -> None:
        """Parse the flags. `make_keys` generates a key pair, which takes a tenth of a second."""
        self.flags, self._faults = parse(SshFlags, self.name, arguments)
        self._make_keys = make_keys

    def faults(self, job: Job) -> Sequence[PluginFault]:  # noqa: ARG002  the protocol's
        """Return the faults of the flags, and an invalid port."""
        if self._port == self.flags.port:
            return self._faults
        port = PluginFault(
            plugin=self.name,
            path=f"spec.plugins[{self.name}]",
            value=str(self.flags.port),
            expected=f"a port from 1 to {_HIGHEST_PORT}",
            message=f"ssh-port {self.flags.port} of job plugin ssh is no port; {_DEFAULT_PORT} is used",
        )
        return (*self._faults, port)

    def on_pod(self, job: Job, task: TaskSpec, index: int, pod: Json) -> None:  # noqa: ARG002  the protocol's
        """Mount the keys into all containers."""
        secret, volume = _secret_name(job), volume_name(_secret_name(job))
        items = [{"key": key, "path": f"{_FOLDER}/{key}"} for key in (_PRIVATE, _PUBLIC, _AUTHORIZED, _CONFIG)]
        mode = 0o600 if self.flags.key_file_path == _HOME else 0o644
        add_volume(pod, {"name": volume, "secret": {"secretName": secret, "items": items, "defaultMode": mode}})
        for container in all_containers(pod):
            mount(container, {"name": volume, "mountPath": self.flags.key_file_path, "subPath": _FOLDER})

    def keys(self, job: Job) -> Sequence[OwnedKey]:
        """Return the identity of the Secret."""
        return (OwnedKey("Secret", _secret_name(job)),)

    def objects(self, job: Job, existing: Mapping[OwnedKey, Json]) -> Sequence[Owned]:
        """Return the Secret, with its existing key pair, the user's pair, or a new one."""
        (key,) = self.keys(job)
        data = {**self._pair_of(existing.get(key)), _CONFIG: _base64(ssh_config(job, self._port))}
        manifest = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": owned_metadata(job, _secret_name(job)),
            "data": data,
        }
        return (Owned(manifest=manifest, is_kept_true=True),)

    def _pair_of(self, secret: Json | None) -> dict[str, str]:
        """Return the key pair as entries of the Secret, in base64."""
        if self.flags.private_key:
            pair = KeyPair(private=self.flags.private_key, public=self.flags.public_key)
        elif secret is not None and (secret.get("data") or {}).get(_PRIVATE):
            return {key: secret["data"].get(key, "") for key in (_PRIVATE, _PUBLIC, _AUTHORIZED)}
        else:
            pair = self._make_keys()
        public = _base64(pair.public)
        return {_PRIVATE: _base64(pair.private), _PUBLIC: public, _AUTHORIZED: public}

    @property
    def _port(self) -> int:
        return self.flags.port if 0 < self.flags.port <= _HIGHEST_PORT else _DEFAULT_PORT


def ssh_config(job: Job, port: int) -> str:
    """Return the client's configuration: all hosts of the Job, without host key checks."""
    lines = ["StrictHostKeyChecking no", "UserKnownHostsFile /dev/null"]
    for task in job.spec.tasks:
        for hostname, subdomain in hosts_of(job, task):
            lines += [f"Host {hostname}", f"  HostName {hostname}.{subdomain}", f"  Port {port}"]
    return "".join(f"{line}\n" for line in lines)


def _secret_name(job: Job) -> str:
    return f"{job.metadata.name}-ssh"


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
