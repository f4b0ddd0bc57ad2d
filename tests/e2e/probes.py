"""Whether a server answers yet."""

import http.client
import ssl
import urllib.request

__all__ = ["answers_ok", "trust_nobody_in_particular"]

PROBE_SECONDS = 5.0
"""Longest wait for one answer."""


def answers_ok(url: str, tls: ssl.SSLContext | None = None) -> bool:
    """Return whether a GET is answered with a success; refused connections and errors are a no."""
    # No proxy of the environment stands before the loopback.
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=tls))
    try:
        with direct.open(url, timeout=PROBE_SECONDS) as answer:
            return bool(200 <= answer.status < 300)
    except (OSError, http.client.HTTPException):
        return False


def trust_nobody_in_particular() -> ssl.SSLContext:
    """Return a context for servers on the loopback that make up their own certificate."""
    tls = ssl.create_default_context()
    tls.check_hostname = False
    tls.verify_mode = ssl.CERT_NONE
    return tls
