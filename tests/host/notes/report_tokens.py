from django.db import models
from rest_framework.response import Response

from usergroups.tokens.authentication import BearerTokenAuthentication
from usergroups.tokens.models import Token
from usergroups.tokens.views import TokenView


class ReportToken(Token):
    prefix = "rep"
    owner_field = "team"
    team = models.ForeignKey("usergroups.Team", models.CASCADE)

    class Meta:
        permissions = [("revoke_reporttoken", "Can revoke report token")]


class ReportTokenAuthentication(BearerTokenAuthentication):
    model = ReportToken


class ReportView(TokenView):
    authentication_classes = [ReportTokenAuthentication]

    def get(self, request):
        return Response(
            {"success": 1, "user_groups": request.auth.team.user_groups.count()}
        )
