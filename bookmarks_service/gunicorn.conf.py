"""How gunicorn serves: ``gunicorn -c bookmarks_service/gunicorn.conf.py``.

gunicorn itself reads more from WEB_CONCURRENCY (processes), PORT and GUNICORN_CMD_ARGS (any option).
"""

import multiprocessing
import os

wsgi_app = "bookmarks_service.wsgi"
worker_class = "gthread"
workers = int(os.environ.get("WEB_CONCURRENCY", multiprocessing.cpu_count()))
threads = 8
# A leak, whoever's, never grows for long; the jitter keeps workers from starting anew all at once.
max_requests = 20_000
max_requests_jitter = 2_000
keepalive = 5  # seconds
control_socket_disable = True
