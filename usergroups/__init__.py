"""User groups, and the tokens, API conventions and admin tools that other apps
build on.
"""

__version__ = "1.0.0"
