"""What every call of the API is: its view, request, errors, pagination and
batches.

Imports no model.
"""
