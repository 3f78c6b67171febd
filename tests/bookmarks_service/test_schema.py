"""The OpenAPI document is rendered once and then served from memory."""

import pytest
from django.template.response import SimpleTemplateResponse
from django.test import RequestFactory
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.views import SpectacularAPIView

from bookmarks_service import schema

pytestmark = pytest.mark.once

REQUESTS = [
    ({}, {}),
    ({"format": "json"}, {}),
    ({}, {"Accept": "application/json; indent=1"}),
    ({}, {"Accept": "application/yaml"}),
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


def test_the_document_is_generated_once_and_few_renderings_are_kept(client, monkeypatch):
    schema.rendered.clear()
    schema.document.cache_clear()
    generated = []
    generate = SchemaGenerator.get_schema
    monkeypatch.setattr(
        SchemaGenerator, "get_schema", lambda *args, **kwargs: generated.append(1) or generate(*args, **kwargs)
    )

    for n in range(20):
        client.get("/schema/", headers={"Accept": f"application/json; indent={n}; x={n}"})

    assert len(schema.rendered) <= 10
    assert len(generated) == 1
