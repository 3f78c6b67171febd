"""How rows are written: retries, announcements, versions and deletions.

Imports no model.
"""
