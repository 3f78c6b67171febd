#!/bin/sh
# What the containers need every day: see docs/containers.md. A backup of the
# database, the deletion of backups that are older than KEEP_DAYS (default 14), and
# commands that delete what is old.
set -eu
umask 077  # only the current user may read the backups

cd "$(dirname "$0")/../.."
folder=../bookmarks_service_backups
mkdir -p "$folder"

# A backup gets its name when it is complete.
docker compose exec -T postgres pg_dump --username=bookmarks --format=custom bookmarks \
    > "$folder/unfinished"
mv "$folder/unfinished" "$folder/$(date +%FT%H%M%S).dump"
find "$folder" -type f -mtime "+${KEEP_DAYS:-14}" -delete

docker compose exec -T service python manage.py prune
docker compose exec -T service python manage.py clearsessions
