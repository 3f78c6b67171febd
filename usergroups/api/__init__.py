"""What every call of the API is: its view, request, errors, pagination and
batches.

Imports no model of the apps, except the abstract DatedModel.
"""
