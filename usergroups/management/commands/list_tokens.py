from typing import Any

from django.core.management.base import CommandParser

from usergroups.management import options as shared
from usergroups.management.base import OperatorCommand
from usergroups.models import Team
from usergroups.tokens.models import Token, TokenState


class Command(OperatorCommand):
    help = "Prints a line for each token of every kind, with its id."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--team", type=shared.team_name, metavar="NAME", help="Only tokens of this team.")
        parser.add_argument("--state", choices=TokenState.values, help="Only tokens in this state.")
        shared.add_json(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        team = shared.team(options) if options["team"] else None
        for model in shared.token_models():
            tokens = model.objects.select_related(model.owner_field).order_by("pk")
            if team is not None:
                tokens = tokens.filter(**{path_to_team(model): team})
            if options["state"]:
                tokens = tokens.in_state(options["state"])
            for token in tokens.iterator():
                columns = [token.public_id, token.state, str(token.owner), str(token)]
                self.stdout.write(shared.token_json(token) if options["json"] else "\t".join(columns))


def path_to_team(model: type[Token]) -> str:
    """Return the look-up of the team to which tokens belong, directly or through their owner."""
    is_owner = model._meta.get_field(model.owner_field).related_model is Team
    return model.owner_field if is_owner else f"{model.owner_field}__team"
