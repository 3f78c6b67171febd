"""Create the roles of operators."""

from django.contrib.auth.models import Group, Permission
from django.db import transaction

from usergroups.management.operator_command import OperatorCommand

APPS = ("usergroups", "bookmarks")
ROLES = {
    "Operators": ("view", "revoke"),
    "Managers": ("view", "revoke", "add", "change", "reveal"),
}


class Command(OperatorCommand):
    help = (
        "Creates the groups Operators, who can view everything and revoke tokens, and "
        "Managers, who can also add and edit everything and reveal user group tokens. "
        "Existing groups with these names get exactly these permissions."
    )

    @transaction.atomic
    def handle(self, *args: object, **options: object) -> None:
        permissions = Permission.objects.filter(content_type__app_label__in=APPS)
        for role, verbs in ROLES.items():
            group, _ = Group.objects.get_or_create(name=role)
            # A codename is a verb and a model, such as "view_bookmark".
            any_verb = "|".join(verbs)
            granted = permissions.filter(codename__regex=f"^({any_verb})_")
            group.permissions.set(granted)
            names = ", ".join(verbs)
            self.stderr.write(f"{role}: {names}.", self.style.SUCCESS)
