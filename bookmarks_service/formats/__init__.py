"""The formats of times that differ from Django's, by language."""
