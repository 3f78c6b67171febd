"""The building blocks of the admin: confirmation pages, bounded lists, filters, saving and JSON fields."""
