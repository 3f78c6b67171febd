"""Views of the bookmark operations."""
