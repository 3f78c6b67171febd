"""A WSGI application that serves the metrics of all workers to Prometheus.

It runs in a process of its own.
"""

from prometheus_client import CollectorRegistry, make_wsgi_app
from prometheus_client.multiprocess import MultiProcessCollector

registry = CollectorRegistry()
MultiProcessCollector(registry)
application = make_wsgi_app(registry)
