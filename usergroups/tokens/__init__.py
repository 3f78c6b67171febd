"""What every token is: its secret, abstract model, authentication, permission
and admin.

Of the concrete models, imports only the event.
"""
