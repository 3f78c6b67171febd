class ReplicaRouter:
    """Read the models of the apps from the replica. Other models, such as sessions, stay in the default database."""

    def db_for_read(self, model, **hints):
        return "replica" if model._meta.app_label in ("usergroups", "bookmarks") else "default"

    def db_for_write(self, model, **hints):
        return "default"

    def allow_relation(self, obj1, obj2, **hints):
        return None
