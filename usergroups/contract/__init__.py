"""The conventions of the API: base view, parser, fields, errors, pagination and OpenAPI.

Does not import any concrete models.
"""
