"""Requests and responses of the operations."""
