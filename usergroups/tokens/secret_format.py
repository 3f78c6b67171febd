"""The text of a token: ``prefix_`` + 32 random base62 characters (190 bits) + a checksum of 6.

The prefix tells the kind and lets secret scanners find leaked tokens; the checksum, a CRC-32 in base62 over
all that stands before it, refuses a mistyped or foreign string without a query. The form follows GitHub's:
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

_TOKEN = re.compile(rf"[a-z]+_[0-9A-Za-z]{{{RANDOM_LENGTH + CHECKSUM_LENGTH}}}", re.ASCII)


def generate(prefix: str) -> str:
    """Return a new token of the kind that ``prefix`` names."""
    body = f"{prefix}_" + "".join(secrets.choice(ALPHABET) for _ in range(RANDOM_LENGTH))
    return body + _checksum(body)


def is_well_formed(token: str, prefix: str) -> bool:
    """Whether ``token`` could have come from ``generate(prefix)``."""
    body, checksum = token[:-CHECKSUM_LENGTH], token[-CHECKSUM_LENGTH:]
    return bool(_TOKEN.fullmatch(token)) and body.startswith(f"{prefix}_") and _checksum(body) == checksum


def digest(token: str) -> bytes:
    """Return the 32 bytes that are stored in place of the token.

    A plain SHA-256 is enough: nobody can try out 190 random bits, so a slow hash would protect nothing.
    """
    return hashlib.sha256(token.encode()).digest()


def hint(token: str) -> str:
    """Return the visible beginning of a token, which tells two tokens apart and leaves 166 bits unknown."""
    return token[: token.index("_") + 1 + HINT_LENGTH]


def _checksum(body: str) -> str:
    number, digits = zlib.crc32(body.encode()), ""
    for _ in range(CHECKSUM_LENGTH):
        number, rest = divmod(number, len(ALPHABET))
        digits = ALPHABET[rest] + digits
    return digits
