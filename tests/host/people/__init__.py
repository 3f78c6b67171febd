"""An app of a host, with its own user model."""
