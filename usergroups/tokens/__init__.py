"""The base of all tokens: secret format, abstract model, authentication, rate limits and admin.

Does not import any concrete models.
"""
