"""The building blocks of the admin: bounded lists, forms, confirmation pages,
the history, Find, and the base class that combines them.
"""
