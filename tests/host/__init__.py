"""A foreign Django project with the apps plugged in. It shares nothing with the service."""
