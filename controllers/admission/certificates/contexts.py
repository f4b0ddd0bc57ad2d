"""TLS settings of the server: new handshakes show the newest certificate, connections that stand are not cut."""

import os
import ssl

from pyroclast.controllers.admission.certificates.pairs import Pair

__all__ = ["new_context", "show"]


def new_context() -> ssl.SSLContext:
    """Return settings without a certificate: TLS 1.2 or newer; clients are asked for theirs where `clients` says so."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context


def show(context: ssl.SSLContext, pair: Pair) -> None:
    """Show a certificate from now on; the key is never written to a disk.

    Raises:
        ssl.SSLError: The pair cannot be used.
    """
    # The ssl module reads files alone; this one is memory.
    descriptor = os.memfd_create("certificate", os.MFD_CLOEXEC)
    try:
        with open(descriptor, "wb", closefd=False) as memory:
            memory.write(pair.certificate + pair.key)
        context.load_cert_chain(f"/proc/self/fd/{descriptor}")
    finally:
        os.close(descriptor)
