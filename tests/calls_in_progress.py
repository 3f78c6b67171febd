"""Calls that are in progress while a test makes others."""


def begin_call(stack, limit, owner):
    """Count a call of the owner, an instance, until the ExitStack is closed."""
    key = (type(owner), owner.pk)
    limit.begin(key)
    stack.callback(limit.end, key)
