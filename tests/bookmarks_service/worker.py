"""The service's gunicorn worker with another time limit for stalled clients: STALLED in the environment, in seconds."""

import os

from bookmarks_service import paced_socket

paced_socket.STALLED = float(os.environ["STALLED"])

from bookmarks_service.gunicorn_worker import Worker  # noqa: E402, F401
