"""Labels for inputs that share the label of their field, which belongs to none of them."""

from django import forms
from django.utils.translation import gettext as _


def label_date_and_time(field: forms.SplitDateTimeField) -> None:
    """Give each input of the field a label for screen readers."""
    date, time = field.widget.widgets
    date.attrs["aria-label"] = _("%(field)s: date") % {"field": field.label}
    time.attrs["aria-label"] = _("%(field)s: time") % {"field": field.label}
