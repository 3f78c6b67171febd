"""The failures of a sign-in, with messages for the operator."""

from django.utils.translation import gettext_lazy as _


class SignInFailure(Exception):
    """A sign-in failed. ``message`` tells the operator what to do."""

    status = 403
    message = _("The identity provider refused the sign-in.")


class NoRole(SignInFailure):
    message = _("You have no role in this service. Ask an administrator for one, then sign in again.")


class DeactivatedAccount(SignInFailure):
    message = _("Your account in this service is deactivated. Ask an administrator.")


class UnknownSignIn(SignInFailure):
    status = 400
    message = _("This sign-in has expired, was used before, or began in another browser. Start again.")


class ProviderFailure(SignInFailure):
    status = 502
    message = _("The identity provider did not respond, or its response was not valid. Try again in a moment.")


class TooManySignIns(SignInFailure):
    status = 503
    message = _("Too many operators are signing in at once. Try again in a moment.")
