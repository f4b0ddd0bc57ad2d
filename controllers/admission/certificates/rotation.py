"""Rotation: the desired certificates of the replicas, as a pure function of the current ones and the time.

The API server trusts the signing authority at every moment of a rotation:

    nothing ──make──▶ current ──two thirds of its life──▶ current + next, both trusted
                         ▲                                    │ a day later
                         └── next signs, the old one is trusted until it ends ──┘

The serving certificate is renewed after two thirds of its life, when names are missing, and when its authority changes.
A certificate that was issued while a clock was ahead is not yet valid for clients, and is issued again.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from pyroclast.controllers.admission.certificates.pairs import Pair, certificates_of, issue, make_authority

__all__ = ["Lives", "Material", "renewed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Lives:
    """Lifetimes of certificates and of the steps of a rotation."""

    authority: timedelta = timedelta(days=3650)
    serving: timedelta = timedelta(days=90)
    notice: timedelta = timedelta(days=1)
    """Time between publishing a new authority and its first signature, so that API servers can load it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """Certificates that the replicas share. Parts that are missing or unusable are None or left out."""

    authority: Pair | None = None
    """Authority that signs now."""
    next_authority: Pair | None = None
    """Authority that signs next; it is already in the CA bundle."""
    serving: Pair | None = None
    """Certificate that servers present."""
    trusted: bytes = b""
    """Certificates of all trusted authorities, beginning with the signing one."""


def renewed(material: Material, names: Sequence[str], now: datetime, lives: Lives) -> Material:
    """Return the desired certificates, or an equal value if nothing is due.

    Args:
        material: Current certificates.
        names: DNS names and addresses by which the API server reaches the servers.
        now: The time.
        lives: Lifetimes.
    """
    authority, following = material.authority, material.next_authority
    if following is not None and following.is_premature(now):
        following = None
    if authority is None or now >= authority.expires_at or authority.is_premature(now):
        authority, following = make_authority(now, lives.authority), None
    elif following is not None and now >= following.made_at + lives.notice:
        authority, following = following, None
    elif following is None and authority.is_due(now):
        following = make_authority(now, lives.authority)
    serving = material.serving
    if serving is None or serving.is_due(now) or serving.is_premature(now) or not serving.is_signed_by(authority):
        serving = issue(authority, names, now, lives.serving)
    elif not serving.names().issuperset(names):
        # Replicas before and after an upgrade may have different names. Neither version may drop the names of the
        # other.
        serving = issue(authority, (*names, *sorted(serving.names().difference(names))), now, lives.serving)
    changed = replace(material, authority=authority, next_authority=following, serving=serving)
    return replace(changed, trusted=_trusted(changed, now))


def _trusted(material: Material, now: datetime) -> bytes:
    """Return the current and the next authority, and former authorities until they expire."""
    desired = [pair.certificate for pair in (material.authority, material.next_authority) if pair is not None]
    earlier = [each for each in certificates_of(material.trusted) if now < Pair(each, b"").expires_at]
    return b"".join(dict.fromkeys((*desired, *earlier)))
