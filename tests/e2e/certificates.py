"""Certificates of a throw-away control plane: an authority, the API server, and the administrator."""

from dataclasses import dataclass
from pathlib import Path

import trustme

__all__ = ["Certificates", "issue_certificates"]

ADMINISTRATORS = "system:masters"
"""Organisation that the API server lets do everything."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificates:
    """PEM files, by their use."""

    authority: Path
    """Certificate that signed all others."""
    server: Path
    """Certificate of the API server, for 127.0.0.1."""
    server_key: Path
    """Private key of the API server."""
    admin: Path
    """Client certificate of the administrator."""
    admin_key: Path
    """Private key of the administrator."""
    service_accounts_key: Path
    """Private key that tokens of service accounts are signed with."""


def issue_certificates(folder: Path) -> Certificates:
    """Write new certificates into `folder`, which must exist."""
    authority = trustme.CA()
    server = authority.issue_cert("127.0.0.1", "localhost")
    # A name even where none is needed: without one, trustme writes an extension that Go refuses.
    admin = authority.issue_cert("admin", common_name="admin", organization_name=ADMINISTRATORS)
    service_accounts = authority.issue_cert("service-accounts")
    files = Certificates(
        authority=folder / "ca.crt",
        server=folder / "server.crt",
        server_key=folder / "server.key",
        admin=folder / "admin.crt",
        admin_key=folder / "admin.key",
        service_accounts_key=folder / "service-accounts.key",
    )
    authority.cert_pem.write_to_path(str(files.authority))
    server.private_key_pem.write_to_path(str(files.server_key))
    server.cert_chain_pems[0].write_to_path(str(files.server))
    admin.private_key_pem.write_to_path(str(files.admin_key))
    admin.cert_chain_pems[0].write_to_path(str(files.admin))
    service_accounts.private_key_pem.write_to_path(str(files.service_accounts_key))
    return files
