"""Calls that are in progress while a test makes others."""


def begin_call(stack, limit, owner):
    """Count a call of the owner, any key, until the ExitStack is closed."""
    limit.begin(owner)
    stack.callback(limit.end, owner)
