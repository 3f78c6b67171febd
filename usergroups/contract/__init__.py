"""The conventions of the API: parser, fields, errors, pagination and batches.

Does not import any concrete models.
"""
