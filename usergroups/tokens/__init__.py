"""The base of all tokens: secrets, abstract model, authentication, rate limits
and admin. Imports no concrete model.
"""
