"""What every admin page of the apps shares: confirmation, bounded lists, filters, saving and JSON fields."""
