from django.db import models, transaction
from rest_framework.permissions import BasePermission

from usergroups import views
from usergroups.models import Team


class OrganisationManager(models.Manager):
    def add(self, name, **fields):
        with transaction.atomic():
            return self.create(team=Team.objects.create(name=name), **fields)


class Organisation(models.Model):
    team = models.OneToOneField(Team, models.CASCADE, primary_key=True)
    is_suspended = models.BooleanField(default=False)

    objects = OrganisationManager()


class IsNotSuspended(BasePermission):
    message = "The organisation is suspended."
    code = "suspended"

    def has_permission(self, request, view):
        return not Organisation.objects.filter(team=request.auth.team_id, is_suspended=True).exists()


class UserGroupView(views.UserGroupView):
    permission_classes = [*views.UserGroupView.permission_classes, IsNotSuspended]
