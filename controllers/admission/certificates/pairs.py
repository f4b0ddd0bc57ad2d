"""Key pairs: an authority, and certificates that it signs. All in PEM."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from typing import Final

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

__all__ = ["Pair", "certificates_of", "issue", "make_authority", "pair_of"]

_SKEW: Final = timedelta(minutes=5)
"""Certificates are valid from this long before their issue, because clocks in a cluster differ."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A certificate and its key."""

    certificate: bytes
    key: bytes

    @property
    def parsed(self) -> x509.Certificate:
        """The parsed certificate."""
        return x509.load_pem_x509_certificate(self.certificate)

    @property
    def made_at(self) -> datetime:
        """Time of issue."""
        return self.parsed.not_valid_before_utc + _SKEW

    @property
    def expires_at(self) -> datetime:
        """End of the validity."""
        return self.parsed.not_valid_after_utc

    def is_premature(self, now: datetime) -> bool:
        """Return whether the certificate is not valid yet, because it was issued while a clock was ahead."""
        return now < self.parsed.not_valid_before_utc

    def is_due(self, now: datetime) -> bool:
        """Return whether two thirds of the lifetime are over, so that the certificate is due for renewal."""
        return now >= self.made_at + (self.expires_at - self.made_at) * 2 / 3

    def names(self) -> frozenset[str]:
        """Return its DNS names and addresses."""
        try:
            found = self.parsed.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        except x509.ExtensionNotFound:
            return frozenset()
        addresses = (str(address) for address in found.get_values_for_type(x509.IPAddress))
        return frozenset((*found.get_values_for_type(x509.DNSName), *addresses))

    def is_signed_by(self, authority: "Pair") -> bool:
        """Return whether an authority signed it."""
        try:
            self.parsed.verify_directly_issued_by(authority.parsed)
        except (ValueError, TypeError, InvalidSignature):
            return False
        return True


def pair_of(certificate: bytes | None, key: bytes | None) -> Pair | None:
    """Return a usable pair, or None if a part is missing, unreadable or belongs to another pair."""
    if not certificate or not key:
        return None
    try:
        read_key = serialization.load_pem_private_key(key, password=None)
        public = x509.load_pem_x509_certificate(certificate).public_key()
    except (ValueError, TypeError):
        return None
    form = (serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    return Pair(certificate, key) if read_key.public_key().public_bytes(*form) == public.public_bytes(*form) else None


def certificates_of(bundle: bytes | None) -> list[bytes]:
    """Split a bundle. An unreadable bundle counts as empty."""
    try:
        found = x509.load_pem_x509_certificates(bundle or b"")
    except ValueError:
        return []
    return [certificate.public_bytes(serialization.Encoding.PEM) for certificate in found]


def make_authority(now: datetime, life: timedelta) -> Pair:
    """Create a self-signed authority."""
    key = ec.generate_private_key(ec.SECP256R1())
    # The time makes the names of two authorities differ while one takes over from another.
    name = _name(f"pyroclast-admission-ca@{int(now.timestamp())}")
    builder = (
        _builder(name, name, key, now, life)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs_certificates=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )
    return _pair(builder.sign(key, hashes.SHA256()), key)


def issue(authority: Pair, names: Sequence[str], now: datetime, life: timedelta) -> Pair:
    """Issue a certificate for a server.

    Args:
        authority: Certificate authority that signs.
        names: DNS names and addresses of the server; the first also names it.
        now: The time.
        life: Validity of the certificate; it ends with the validity of the authority at the latest.
    """
    key = ec.generate_private_key(ec.SECP256R1())
    signer = serialization.load_pem_private_key(authority.key, password=None)
    if not isinstance(signer, ec.EllipticCurvePrivateKey):
        raise TypeError("authorities are made by make_authority, with keys on a curve")
    life = min(life, authority.expires_at - now)
    builder = (
        _builder(_name(names[0][:64]), authority.parsed.subject, key, now, life)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName([_general_name(name) for name in names]), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()),
            critical=False,
        )
    )
    return _pair(builder.sign(signer, hashes.SHA256()), key)


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, now: datetime, life: timedelta
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now.astimezone(UTC) - _SKEW)
        .not_valid_after(now.astimezone(UTC) + life)
    )


def _pair(certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> Pair:
    return Pair(
        certificate.public_bytes(serialization.Encoding.PEM),
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()),
    )


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _general_name(text: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(text))
    except ValueError:
        return x509.DNSName(text)


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )
