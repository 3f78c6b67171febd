"""The bookmark operations."""
