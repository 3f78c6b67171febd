"""The OpenAPI document is rendered once and then served from memory."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.template.response import SimpleTemplateResponse
from django.test import Client, RequestFactory
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.views import SpectacularAPIView

from bookmarks_service import schema


@pytest.fixture
def renderings(monkeypatch):
    """Empty the cache, and list the threads in which the generator runs."""
    schema.rendered.clear()
    schema.document.cache_clear()
    threads = []
    generate = SchemaGenerator.get_schema

    def get_schema(self, *args, **kwargs):
        threads.append(threading.get_ident())
        return generate(self, *args, **kwargs)

    monkeypatch.setattr(SchemaGenerator, "get_schema", get_schema)
    return threads


REQUESTS = [
    ({}, {}),
    ({"format": "yaml"}, {}),
    ({"format": "json"}, {}),
    ({}, {"Accept": "application/vnd.oai.openapi"}),
    ({}, {"Accept": "application/vnd.oai.openapi+json"}),
    ({}, {"Accept": "application/yaml"}),
    ({}, {"Accept": "application/json"}),
    ({}, {"Accept": "application/json; indent=1"}),
    ({}, {"Accept": "application/yaml; x=1"}),
    ({}, {"Accept": "*/*"}),
    ({"format": "xml"}, {}),
    ({}, {"Accept": "text/html"}),
]


def answer_of(view, query, headers):
    """Return the rendered answer of a view."""
    response = view.as_view()(RequestFactory().get("/schema/", query, headers=headers))
    return response.render() if isinstance(response, SimpleTemplateResponse) else response


@pytest.mark.parametrize(("query", "headers"), REQUESTS)
def test_answers_are_the_same_as_those_of_drf_spectacular(query, headers):
    expected = answer_of(SpectacularAPIView, query, headers)

    for _ in range(2):
        response = answer_of(schema.SchemaView, query, headers)
        assert (response.status_code, response.content) == (expected.status_code, expected.content)
        assert response.headers == expected.headers


def test_concurrent_calls_generate_the_document_once(renderings):
    with ThreadPoolExecutor(8) as pool:
        calls = [pool.submit(Client().get, "/schema/", query, headers=headers) for query, headers in REQUESTS * 3]
        statuses = [call.result().status_code for call in calls]

    assert len(renderings) == 1
    assert statuses == [200] * 10 + [404, 406] + ([200] * 10 + [404, 406]) * 2


def test_a_request_does_not_change_later_answers(client, renderings):
    client.get("/schema/?version=evil&lang=de", headers={"Host": "localhost:1"})

    assert b"evil" not in client.get("/schema/").content


def test_the_number_of_cached_documents_is_limited(client, renderings):
    for n in range(20):
        client.get("/schema/", headers={"Accept": f"application/json; indent={n}; x={n}"})
        client.get("/schema/", headers={"Accept": f"application/yaml; indent={n}; x={n}"})

    assert len(schema.rendered) <= 10
    assert len(renderings) == 1
