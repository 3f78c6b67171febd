"""The base of all tokens: their secrets, abstract model, authentication, rate limits and admin. Imports no app."""
