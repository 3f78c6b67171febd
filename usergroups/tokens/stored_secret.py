"""The fields that a token stores in place of its secret."""

from datetime import UTC
from typing import ClassVar

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from usergroups.transactions import WritingModel

from . import secret_format


class StoredSecret(WritingModel):
    """The digest and the hint of a secret.

    A secret can be withheld until the page that shows it is loaded, because no secret may be stored until then. The
    token then has the hint of its future secret, and a digest that only its own fields determine.
    """

    prefix: ClassVar[str]
    """The prefix of the secrets of this model."""

    digest = models.BinaryField(max_length=32, unique=True, editable=False)
    hint = models.CharField(_("hint"), max_length=16, editable=False, help_text=_("The beginning of the secret."))
    created_at = models.DateTimeField(_("created"), default=timezone.now, editable=False)

    class Meta:
        abstract = True

    @property
    def public_id(self) -> str:
        """The id in the API: the digest in hexadecimal, which can be computed from a leaked secret."""
        return bytes(self.digest).hex()

    def assign_secret(self, hint: str = "") -> str:
        """Set the digest and hint of a new secret, without saving the token, and return the secret."""
        secret = secret_format.generate(self.prefix, hint)
        self.digest, self.hint = secret_format.digest(secret), secret_format.hint(secret)
        return secret

    def withhold_secret(self) -> str:
        """Set the hint of a secret that ``show_withheld()`` generates, without saving the token. Return empty text."""
        self.assign_secret()
        self.digest = self._digest_while_withheld
        return ""

    @property
    def is_withheld(self) -> bool:
        return bytes(self.digest) == self._digest_while_withheld

    @property
    def _digest_while_withheld(self) -> bytes:
        # No secret has this digest, because the text is not a well-formed secret.
        return secret_format.digest(f"{self.hint} {self.created_at.astimezone(UTC).isoformat()}")
