"""Forms that detect concurrent changes."""

from typing import Any

from django import forms
from django.utils.datastructures import MultiValueDict
from django.utils.text import Truncator
from django.utils.translation import gettext as _

from .fields import choice_with_key

MAX_QUOTED = 1_000  # characters of the stored value in an error


class OperatorForm(forms.ModelForm):  # type: ignore[type-arg]
    """A form that refuses to change a field that somebody else changed after
    it was opened, and shows both values.

    Hidden inputs have the values that it was opened with. Saving the refused
    form again replaces the other change.
    """

    data: "MultiValueDict[str, object]"
    has_conflict = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        is_change = not self.instance._state.adding
        for field in self.fields.values():
            # Compare the input with the value that the form was rendered with,
            # not with the current one.
            field.show_hidden_initial = is_change

    def clean(self) -> None:
        """Refuse changes of fields that somebody else has changed meanwhile."""
        super().clean()
        for name in self.changed_data:
            if name not in self.errors and self.is_conflict(name):
                self.refuse(name)
        if self.instance._state.adding:
            return
        # Take the stored values of the fields that the user did not change,
        # because somebody else may have changed them: the validation, the
        # signal and the history are about what will be stored. Fields that are
        # not the model's have no stored value.
        for name in self.cleaned_data.keys() - set(self.changed_data):
            entered = self.cleaned_data[name]
            self.cleaned_data[name] = getattr(self.instance, name, entered)

    def is_conflict(self, name: str) -> bool:
        """Return whether the stored value is neither the one that the form was
        opened with nor the one entered.
        """
        bound = self[name]
        field = bound.field
        hidden = field.hidden_widget()
        opened_with = hidden.value_from_datadict(
            self.data, self.files, bound.html_initial_name
        )
        if opened_with is None:
            return False
        if not field.has_changed(bound.initial, opened_with):
            return False
        return field.has_changed(bound.initial, bound.data)

    def refuse(self, name: str) -> None:
        """Add an error that shows the stored value, and let the user replace
        this value by saving again.
        """
        self.has_conflict = True
        bound = self[name]
        current = bound.field.prepare_value(bound.initial)
        stored = current
        if isinstance(bound.field, forms.ModelChoiceField):
            stored = choice_with_key(bound.field, current)
        shown = str(stored or "-")
        quoted = Truncator(shown).chars(MAX_QUOTED)
        text = _(
            "This may have changed while you were editing. It is now “%(value)s”. Save "
            "again to replace it."
        )
        self.add_error(name, text % {"value": quoted})
        self.open_with(name, current)

    def open_with(self, name: str, current: object) -> None:
        """Render ``current`` as the value that the field was opened with,
        which the next input is compared with.
        """
        hidden = self.fields[name].hidden_widget()
        hidden_name = self.add_initial_prefix(name)
        self.data = self.data.copy()
        self.data[hidden_name] = hidden.format_value(current) or ""
