"""The building blocks of the admin: the base class, confirmation pages,
bounded lists, filters, forms and history.
"""
