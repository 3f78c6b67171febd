"""The runnable service around the apps. Nothing imports it."""
