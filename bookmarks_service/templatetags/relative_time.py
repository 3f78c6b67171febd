"""The template filter ``relative_time``."""

from django.template import Library

from usergroups.admin_tools.columns import relative_time

register = Library()
register.filter("relative_time", relative_time)
