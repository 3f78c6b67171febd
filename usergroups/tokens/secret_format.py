"""The format of secrets: ``prefix_``, 32 random base62 characters (190 bits)
and a checksum of 6 characters.

The prefix names the kind of the token, and lets secret scanners find leaked
tokens. The checksum is the CRC-32 of the text before it, in base62. With it,
the service rejects a mistyped secret without a query. The format follows
GitHub's:
https://github.blog/engineering/behind-githubs-new-authentication-token-formats/
"""

import hashlib
import re
import secrets
import string
import zlib

ALPHABET = string.digits + string.ascii_uppercase + string.ascii_lowercase
RANDOM_LENGTH = 32
CHECKSUM_LENGTH = 6  # 62**6 > 2**32
HINT_LENGTH = 4

_LIKE_A_SECRET = re.compile(r"_[0-9A-Za-z]{20,}", re.ASCII)
_SECRET = re.compile(
    rf"[a-z]+_[0-9A-Za-z]{{{RANDOM_LENGTH + CHECKSUM_LENGTH}}}", re.ASCII
)


def generate(prefix: str) -> str:
    """Return a new secret with this prefix."""
    characters = (secrets.choice(ALPHABET) for _ in range(RANDOM_LENGTH))
    body = f"{prefix}_{''.join(characters)}"
    return body + _checksum(body)


def is_well_formed(secret: str, prefix: str) -> bool:
    """Return whether ``secret`` has the prefix, the length and a correct
    checksum.
    """
    if not _SECRET.fullmatch(secret) or not secret.startswith(f"{prefix}_"):
        return False
    body = secret[:-CHECKSUM_LENGTH]
    checksum = secret[-CHECKSUM_LENGTH:]
    return _checksum(body) == checksum


def digest(secret: str) -> bytes:
    """Return the SHA-256 digest of the secret, 32 bytes, which is stored in
    place of it.

    A slow hash would add no protection, since 190 random bits cannot be
    guessed.
    """
    return hashlib.sha256(secret.encode()).digest()


def hint(secret: str) -> str:
    """Return the prefix of a secret and the first four characters after it.

    They help to recognize the secret, and leave 166 of its bits unknown.
    """
    random_part = secret.index("_") + 1
    return secret[: random_part + HINT_LENGTH]


def redact(text: str) -> str:
    """Replace the random part of whatever looks like a secret in the text, or
    like most of a secret, by an ellipsis.
    """
    return _LIKE_A_SECRET.sub("_…", text)


def hints_in(text: str, prefix: str) -> list[str]:
    """Return the hints, or beginnings of them, of all secrets with this prefix
    that are in the text, or whose beginnings are.
    """
    return re.findall(rf"\b{prefix}_[0-9A-Za-z]{{1,{HINT_LENGTH}}}", text, re.ASCII)


def _checksum(body: str) -> str:
    """Return the CRC-32 of the text as six base62 digits."""
    number = zlib.crc32(body.encode())
    digits = ""
    for _ in range(CHECKSUM_LENGTH):
        number, rest = divmod(number, len(ALPHABET))
        digits = ALPHABET[rest] + digits
    return digits
