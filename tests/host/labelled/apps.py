"""The apps with labels of the host's choice, as if it had apps with ours of its own."""

from bookmarks.apps import BookmarksConfig
from usergroups.apps import UserGroupsConfig


class TeamsConfig(UserGroupsConfig):
    label = "teams"


class LinksConfig(BookmarksConfig):
    label = "links"
