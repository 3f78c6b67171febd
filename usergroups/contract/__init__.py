"""The conventions of the API: parser, fields, errors, pagination and batches.

Imports nothing else of the app.
"""
