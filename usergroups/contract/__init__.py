"""The conventions of the API: parser, fields, errors, pagination and batches. Imports no app."""
