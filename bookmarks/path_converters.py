"""The ids in paths, for the URLs of the apps and of hosts."""

from django.urls.converters import StringConverter


class PublicIdConverter(StringConverter):
    """An id, as in ``<public_id:id>``: any text except the last parts of other
    paths of the apps, so that a view of the host may stand before them.
    """

    regex = r"(?!(?:batch|lookup)\Z)[^/]+"
