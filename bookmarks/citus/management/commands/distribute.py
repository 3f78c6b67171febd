from bookmarks.citus.management.script_command import ScriptCommand


class Command(ScriptCommand):
    help = (
        "Distributes bookmarks and collections by user group over the nodes of Citus. "
        "Run it once, after migrate."
    )
    script = "distribute.sql"
    done = "Distributed the tables."
