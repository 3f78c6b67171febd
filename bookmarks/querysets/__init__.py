"""The querysets of bookmarks and collections."""
