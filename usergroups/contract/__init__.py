"""The conventions of the API: base view, parser, fields, errors, pagination and OpenAPI. Imports no app."""
