#!/bin/sh
# Install the files of this folder: see "Configure" in docs/deploy.md. For example:
# sh docs/examples/install.sh bookmarks.example
#
# It can be repeated, and each upgrade does so. What must not be edited is replaced.
# Files with settings of one's own are only created, for the given host name, if
# they do not exist yet.
set -eu
umask 022
cd "$(dirname "$0")"
systemd=/etc/systemd/system

install bookmarks_service-backup bookmarks_service-manage bookmarks_service-status \
    /usr/local/bin/
install -m 644 bookmarks_service@.service bookmarks_service-daily.service \
    bookmarks_service-daily.timer $systemd/
for unit in bookmarks_service@web bookmarks_service@bulk; do
    install -D -m 644 $unit.conf $systemd/$unit.service.d/bookmarks_service.conf
done
for unit in nginx.service postgresql@.service; do
    install -D -m 644 $unit.conf $systemd/$unit.d/bookmarks_service.conf
done
install -m 644 bookmarks_service_http.conf bookmarks_service_server.conf /etc/nginx/

# Hand connections that wait for a process that ends over to another one, instead of
# resetting them.
echo 'net.ipv4.tcp_migrate_req = 1' > /etc/sysctl.d/bookmarks_service.conf
sysctl --quiet --load=/etc/sysctl.d/bookmarks_service.conf

# Settings of one's own. Only root may read the secret key.
host=${1:-bookmarks.example}
if [ ! -e /etc/bookmarks_service.env ]; then
    (umask 077 && sed -f - bookmarks_service.env > /etc/bookmarks_service.env) <<END
s/bookmarks\.example/$host/
s/^SECRET_KEY=/&$(openssl rand -hex 32)/
END
fi
if [ ! -e /etc/nginx/conf.d/bookmarks_service.conf ]; then
    sed "s/bookmarks\.example/$host/" bookmarks_service.conf \
        > /etc/nginx/conf.d/bookmarks_service.conf
fi

systemctl daemon-reload
