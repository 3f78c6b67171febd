"""Whole host projects, which tests/host/test_same_bytes.py serves over HTTP."""
