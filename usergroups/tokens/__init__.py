"""What any token is: its format, digest, abstract model, authentication and admin. Knows no app."""
