"""Permission by tokens."""

from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.request import Request
from rest_framework.views import APIView

from .models import Token


class TokenPermission(BasePermission):
    """Limits read-only tokens to safe methods and to the view's
    ``safe_methods``.
    """

    message = "The token is read-only."
    code = "insufficient_scope"
    # OperationSchema reads this: safe methods never get a 403 from here.
    applies_to_reads = False

    def has_permission(self, request: Request, view: APIView) -> bool:
        token = request.auth
        # in a view of the host, which may do without a token
        if not isinstance(token, Token):
            return False
        if not token.read_only:
            return True
        safe_methods = (*SAFE_METHODS, *getattr(view, "safe_methods", ()))
        return request.method in safe_methods
