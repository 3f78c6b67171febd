"""Host projects: other Django projects that use the apps.

They share nothing with the service.
"""
