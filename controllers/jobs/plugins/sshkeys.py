"""Key pairs for ssh: RSA of 2048 bits, in the forms that every ssh reads."""

from typing import Final, NamedTuple

from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

__all__ = ["KeyPair", "new_key_pair"]

_BITS: Final = 2048
_EXPONENT: Final = 65537


class KeyPair(NamedTuple):
    """A private key and the line of `authorized_keys` that lets it in."""

    private: str
    """PEM, PKCS #1."""
    public: str


def new_key_pair() -> KeyPair:
    """Make a pair."""
    key = rsa.generate_private_key(public_exponent=_EXPONENT, key_size=_BITS)
    private = key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())
    public = key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
    return KeyPair(private=private.decode(), public=f"{public.decode()}\n")
