from django.db import models

from usergroups.models import Team, UserGroup


class Agency(Team):
    country = models.CharField(max_length=2)


class Customer(UserGroup):
    rank = models.PositiveSmallIntegerField(default=0)


class PlainGroup(UserGroup):
    class Meta:
        proxy = True


class Visit(models.Model):
    customer = models.ForeignKey(Customer, models.CASCADE)
