"""Somebody else's Django project with the apps plugged in: it shares nothing with the service."""
