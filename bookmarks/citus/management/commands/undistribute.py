from bookmarks.citus.management.script_command import ScriptCommand


class Command(ScriptCommand):
    help = "Moves all tables back to the coordinator of Citus."
    script = "undistribute.sql"
    done = "Moved the tables back."
