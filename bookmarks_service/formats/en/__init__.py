"""The formats of times in English."""
