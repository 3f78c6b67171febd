"""The base of all tokens: secret format, abstract model, authentication, rate limits and admin. Imports no app."""
