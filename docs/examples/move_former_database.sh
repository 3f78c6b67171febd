#!/bin/sh
# Move the data of a database from before 27 November 2026: see "Databases from before
# 27 November 2026" in docs/troubleshooting.md. The former database is one of
# PostgreSQL, and was last migrated on 24 November or later.
#
# Stop the service, create an empty database, and write its name into DATABASE_URL.
# Then run this as the owner of both databases:
#
#     sh docs/examples/move_former_database.sh FORMER NEW
set -eu

former=$1
new=$2
data=$(mktemp)
trap 'rm -f "$data"' EXIT

# The tables as they were on that day, and those of Django.
bookmarks_service-manage migrate bookmarks 0006_related_managers
bookmarks_service-manage migrate usergroups 0003_related_managers
for app in auth admin axes sessions; do
    bookmarks_service-manage migrate $app
done

pg_dump --data-only --column-inserts --rows-per-insert=1000 \
    --exclude-table=django_migrations "$former" > "$data"
# If this fails, nothing is stored. If it fails because the names of two teams differ
# only in letter case or in spaces around them, rename one of them, and run the
# script again.
psql --set=ON_ERROR_STOP=1 --set=data="$data" --single-transaction "$new" <<'END_OF_SQL'
TRUNCATE django_content_type, auth_permission CASCADE;
ALTER TABLE bookmarks_bookmark ALTER tags SET DEFAULT '', ALTER note SET DEFAULT '';
ALTER TABLE bookmarks_accesstoken ALTER team_id DROP NOT NULL, ALTER environment DROP NOT NULL;
\i :data
RESET ALL;
UPDATE bookmarks_accesstoken SET team_id = owner.team_id, environment = owner.environment
    FROM usergroups_usergroup owner WHERE owner.id = user_group_id;
SET CONSTRAINTS ALL IMMEDIATE;
ALTER TABLE bookmarks_bookmark ALTER tags DROP DEFAULT, ALTER note DROP DEFAULT;
ALTER TABLE bookmarks_accesstoken ALTER team_id SET NOT NULL, ALTER environment SET NOT NULL;
END_OF_SQL

bookmarks_service-manage migrate
bookmarks_service-manage create_roles
