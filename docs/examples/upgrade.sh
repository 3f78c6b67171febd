#!/bin/sh
# Upgrade the running service to a tag or commit: see "Upgrade" in docs/deploy.md.
# For example: EXTRAS=service,postgres,metrics sh docs/examples/upgrade.sh 1.1.0
set -eu
umask 022  # so that the service can read the new files

version=$1
extras=${EXTRAS:-service,postgres}
folder=${BOOKMARKS_SERVICE_FOLDER:-/srv/bookmarks_service}
new=$folder-$version

install_version() {
    [ -d .venv ] || python3 -m venv .venv
    .venv/bin/pip install --quiet -c constraints.txt -e ".[$extras]"
}

# Install the new version in a folder of its own, and migrate the database from
# there, while the old version serves.
cd "$folder"
git fetch --quiet --tags
[ -d "$new" ] || git worktree add --quiet --detach "$new" "$version"
cd "$new"
install_version
# A migration gives up after half a second without a lock, because calls wait
# behind it.
attempt=1
until PGOPTIONS='-c lock_timeout=500ms -c statement_timeout=0' \
    BOOKMARKS_SERVICE_FOLDER=$new \
    "$new/docs/examples/bookmarks_service-manage" migrate; do
    [ "$attempt" -lt 10 ] || exit 1
    attempt=$((attempt + 1))
    sleep 1
done

# Install the new version in the folder that the server runs from, too.
cd "$folder"
before=$(.venv/bin/granian --version)
former=$(git rev-parse HEAD)
git checkout --quiet --detach "$version"
install_version
DEBUG=1 .venv/bin/python manage.py collectstatic --noinput
sh docs/examples/install.sh

# A reload starts new processes, but not a new Granian, and not with new options.
if [ "$(.venv/bin/granian --version)" = "$before" ] &&
    git diff --quiet "$former" -- 'docs/examples/bookmarks_service@*'; then
    systemctl reload 'bookmarks_service@*'
else
    systemctl restart 'bookmarks_service@*'
fi
nginx -t -q
systemctl reload nginx
bookmarks_service-status
