"""Querysets, with the rules for creating, changing and deleting rows."""
