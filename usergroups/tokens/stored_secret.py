"""The fields that a token stores in place of its secret."""

from typing import ClassVar

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from usergroups.transactions import WritingModel

from . import secret_format


class StoredSecret(WritingModel):
    """The digest and the hint of a secret."""

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

    def assign_secret(self) -> str:
        """Set the digest and hint of a new secret, without saving the token, and return the secret."""
        secret = secret_format.generate(self.prefix)
        self.digest, self.hint = secret_format.digest(secret), secret_format.hint(secret)
        return secret
