"""What every token is: its secret, abstract model, authentication, permission
and admin.

Imports no concrete model.
"""
