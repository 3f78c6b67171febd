"""A WSGI application that serves the metrics of all workers to Prometheus.

It runs in a process of its own. Granian has metrics, too, but starts its
workers by ``fork`` when threads that collect the metrics are already running:
with ``GRANIAN_METRICS_ENABLED``, a worker once hung at its start in a test.
"""

from prometheus_client import CollectorRegistry, make_wsgi_app
from prometheus_client.multiprocess import MultiProcessCollector

registry = CollectorRegistry()
MultiProcessCollector(registry)
application = make_wsgi_app(registry)
