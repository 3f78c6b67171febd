"""A model field that computes the digest of a URL."""

from django.db import models

from . import web_url


class URLDigestField(models.BinaryField):  # type: ignore[type-arg]
    """The digest of the row's ``url``, computed by save() and bulk_create().

    A queryset's update() does not compute it. To change a URL, use ``BookmarkQuerySet.change``.
    """

    def pre_save(self, model_instance: models.Model, add: bool) -> bytes:
        digest = web_url.digest(model_instance.url)  # type: ignore[attr-defined]
        setattr(model_instance, self.attname, digest)
        return digest
