# See docs/containers.md.
FROM python:3.13-slim

LABEL org.opencontainers.image.title="bookmarks_service" \
      org.opencontainers.image.description="User groups and bookmarks over REST and in the Django admin." \
      org.opencontainers.image.licenses="MIT"

# The options of the server. docs/examples/bookmarks_service@.service gives their reasons.
ENV PYTHONUNBUFFERED=1 \
    GRANIAN_HOST=0.0.0.0 \
    GRANIAN_INTERFACE=wsgi \
    GRANIAN_HTTP=1 \
    GRANIAN_WORKERS=2 \
    GRANIAN_BLOCKING_THREADS=256 \
    GRANIAN_BLOCKING_THREADS_IDLE_TIMEOUT=600 \
    GRANIAN_BACKPRESSURE=500 \
    GRANIAN_HTTP1_KEEP_ALIVE=false \
    GRANIAN_HTTP1_HEADER_READ_TIMEOUT=10000 \
    GRANIAN_LOG_CONFIG=bookmarks_service/granian_log.json \
    GRANIAN_RESPAWN_FAILED_WORKERS=1 \
    GRANIAN_RESPAWN_INTERVAL=20 \
    GRANIAN_WORKERS_LIFETIME=1d \
    GRANIAN_WORKERS_MAX_RSS=512 \
    GRANIAN_WORKERS_KILL_TIMEOUT=30 \
    GRANIAN_STATIC_PATH_MOUNT=staticfiles \
    GRANIAN_STATIC_PATH_EXPIRES=31536000

WORKDIR /app

# Install the dependencies before the code is copied, so that Docker does not install them again when the code changes.
# usergroups/__init__.py has the version, which pip needs. All dependencies are wheels, so pip needs no build tools.
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY usergroups/__init__.py usergroups/
RUN pip install --no-cache-dir --root-user-action=ignore -c constraints.txt -e '.[service,postgres,metrics,otel,oidc]'
COPY . .
# The service's user owns the folder, and a new volume that is mounted there, so
# that a SQLite file can be in it.
RUN DEBUG=1 python manage.py collectstatic --noinput && \
    install --directory --owner=10001 --group=10001 /var/lib/bookmarks_service

USER 10001:10001
EXPOSE 8000

# Only open a connection. A request would fail while all threads wait for the database, and an orchestrator would
# restart all containers in vain.
HEALTHCHECK --interval=10s --start-period=30s --timeout=5s \
    CMD ["python", "-c", "from socket import create_connection; create_connection(('127.0.0.1', 8000), 4)"]

# If a setting or an option is invalid, end with one line that names it, before the
# processes of the server start and each report it.
CMD ["sh", "-c", "python manage.py check --deploy > /dev/null && python -m bookmarks_service.server_check && exec granian bookmarks_service.wsgi:application"]
