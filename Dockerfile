# See "Containers" in docs/deploy.md.
FROM python:3.13-slim

LABEL org.opencontainers.image.title="bookmarks_service" \
      org.opencontainers.image.description="User groups and bookmarks over REST and in the Django admin." \
      org.opencontainers.image.licenses="MIT"

ENV PYTHONUNBUFFERED=1 \
    GUNICORN_CMD_ARGS=--bind=0.0.0.0:8000

WORKDIR /app

# The dependencies come first, so that a change of the code does not install them again. All of them are wheels, so that
# no build tools are needed or left.
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY usergroups/__init__.py usergroups/
RUN pip install --no-cache-dir --root-user-action=ignore -c constraints.txt -e '.[service,postgres,metrics,otel,oidc]'
COPY . .

USER 10001:10001
EXPOSE 8000

# Ask /livez, which does not use the database. Where unhealthy containers are restarted, /readyz would restart all of
# them in vain while the database is unavailable. http.client ignores the proxy that a container may inherit.
HEALTHCHECK --start-period=30s --timeout=5s \
    CMD ["python", "-c", "from http.client import HTTPConnection as C; c = C('127.0.0.1', 8000, timeout=4); c.request('GET', '/livez'); assert c.getresponse().status == 200"]

CMD ["gunicorn", "-c", "bookmarks_service/gunicorn.conf.py"]
