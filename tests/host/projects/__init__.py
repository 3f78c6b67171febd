"""Host projects that tests/host/test_same_bytes.py serves over HTTP."""
