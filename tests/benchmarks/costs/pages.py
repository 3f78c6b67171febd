"""Requests for every page of the admin with extreme values."""

from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from django.contrib import admin
from django.contrib.auth.models import Group, User
from django.test import Client, RequestFactory
from django.urls import reverse

from usergroups.events import Event, Kind, keys_text

from .calls import Size
from .extremes import TEXTS
from .measuring import Cost, Request, measured

LIST_PARAMETERS = [
    "q",
    "o",
    "p",
    "all",
    "e",
    "_facets",
    "_popup",
    "_to_field",
    "_changelist_filters",
]
"""Those of Django's lists."""

MAX_VALUE = 8 * 1024
"""The length of a parameter."""

FORM = "application/x-www-form-urlencoded"


class PageParser(HTMLParser):
    """Finds the names of a page's fields and of the parameters of its links."""

    def __init__(self, content: str) -> None:
        super().__init__()
        self.fields: dict[str, str] = {}
        self.parameters: dict[str, str] = {}
        self.has_form = False
        self.feed(content)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if tag in ("input", "select", "textarea") and values.get("name"):
            self.fields.setdefault(str(values["name"]), values.get("value") or "")
        if tag == "form" and (values.get("method") or "").lower() == "post":
            self.has_form = True
        if tag == "a" and (values.get("href") or "").startswith("?"):
            query = urlsplit(str(values["href"])).query
            self.parameters.update(parse_qsl(query, keep_blank_values=True))


def url_names(patterns: Any) -> Iterator[tuple[str, list[str]]]:
    """Yield the name and the arguments of each URL."""
    for pattern in patterns:
        if hasattr(pattern, "url_patterns"):
            yield from url_names(pattern.url_patterns)
        elif pattern.name:
            yield (
                pattern.name,
                [*pattern.pattern.converters] or [*pattern.pattern.regex.groupindex],
            )


class Pages:
    """Makes requests for the pages of the admin site."""

    def __init__(self, client: Client, size: Size) -> None:
        self.client = client
        self.size = size
        self.user = User.objects.create_superuser("operator")
        self.user.groups.add(Group.objects.create(name="A"))
        client.force_login(self.user)
        # A request may end the session of the client.
        self.headers = {"Cookie": client.cookies.output(header="", sep=";").strip()}
        self.create_events()
        self.models = {
            f"{model._meta.app_label}_{model._meta.model_name}": model_admin
            for model, model_admin in admin.site._registry.items()
        }

    def create_events(self) -> None:
        """Create the changes of an operator."""
        values = {"name": ["😀" * 200] * 2}
        Event.objects.bulk_create(
            Event(
                kind=Kind.CHANGED,
                model="auth.group",
                keys=keys_text([1]),
                counts={"auth.group": 1},
                changes=values,
                text="😀" * 200,
            )
            for _ in range(self.size.rows["issue_access_token"])
        )

    def paths(self) -> Iterator[tuple[str, str]]:
        """Yield the name and the path of each page."""
        for name, arguments in url_names(admin.site.get_urls()):
            values = {
                "app_label": "usergroups",
                "url": "x",
                "key": "x",
                "object_id": "x",
                "id": str(self.user.pk),
            }
            model_admin = self.models.get(name.rpartition("_")[0])
            if model_admin is not None and "object_id" in arguments:
                row = model_admin.model._default_manager.order_by("-pk").first()
                values["object_id"] = str(row.pk) if row else "x"
            chosen = {each: values[each] for each in arguments}
            yield name, reverse(f"admin:{name}", kwargs=chosen)

    def costs(self, names: list[str]) -> Iterator[tuple[str, Request, Cost]]:
        """Yield the requests for these pages and what they took."""
        for name, path in self.paths():
            page = f"admin:{name}"
            if names and not page.startswith(tuple(names)):
                continue
            for request in self.requests(name, path):
                yield page, request, measured(self.client, request)

    def requests(self, name: str, path: str) -> Iterator[Request]:
        yield self.get("", path, {})
        response = self.client.get(path, headers=self.headers)
        assert not response.headers.get("Location", "").startswith("/admin/login/")
        found = PageParser("")
        if not response.streaming:
            found.feed(response.content.decode())
        parameters = {**found.parameters}
        model_admin = self.models.get(name.rpartition("_")[0])
        kind = name.rpartition("_")[2]
        if model_admin is not None and kind in self.size.lists:
            parameters |= self.list_parameters(model_admin)
        if name == "autocomplete":
            yield from self.completions(path)
        known = {**parameters, **found.fields}
        if self.size.is_each_field_alone:
            parameters = known
        for title in self.size.texts:
            text = long_text(title, MAX_VALUE // max(1, len(known)))
            yield self.get(f"all: {title}", path, dict.fromkeys(known, text))
        for parameter, value in parameters.items():
            if value and (self.size.is_each_field_alone or parameter in ("q", "o")):
                yield self.get(f"{parameter}: {value[:30]}", path, {parameter: value})
            for title in self.size.texts:
                text = long_text(title, MAX_VALUE)
                yield self.get(f"{parameter}: {title}", path, {parameter: text})
        if found.has_form:
            yield from self.forms(path, found.fields)

    def list_parameters(self, model_admin: Any) -> dict[str, str]:
        """Return those of a list, its filters and every field of its rows."""
        request = RequestFactory().get("/")
        request.user = self.user
        changes = model_admin.get_changelist_instance(request)
        names = [*LIST_PARAMETERS]
        for each in changes.filter_specs:
            names += each.expected_parameters()
        for field in model_admin.opts.get_fields():
            names += [f"{field.name}{lookup}" for lookup in self.size.lookups]
        columns = range(len(model_admin.list_display))
        order = ".".join(str(column) for column in columns)
        return dict.fromkeys(names, "") | {"o": order, "q": "a b c d e"}

    def completions(self, path: str) -> Iterator[Request]:
        for model, model_admin in admin.site._registry.items():
            for field in model_admin.autocomplete_fields:
                query = {
                    "app_label": model._meta.app_label,
                    "model_name": model._meta.model_name,
                    "field_name": field,
                }
                for title in self.size.texts:
                    text = (TEXTS[title] * 100)[:100]
                    yield self.get(f"{field}: {title}", path, {**query, "term": text})

    def forms(self, path: str, fields: dict[str, str]) -> Iterator[Request]:
        """Yield the form of the page with long and with many values."""
        length = self.size.largest_form
        for title in self.size.texts:
            text = long_text(title, length // max(1, len(fields)))
            yield self.post(f"all: {title}", path, dict.fromkeys(fields, text))
            if not self.size.is_each_field_alone:
                continue
            text = long_text(title, length)
            for field in fields:
                yield self.post(f"{field}: {title}", path, {**fields, field: text})
        if not self.size.is_each_field_alone:
            return
        number = 900 // max(1, len(fields))
        repeated = {field: [value] * number for field, value in fields.items()}
        yield self.post("repeated", path, repeated)

    def get(self, title: str, path: str, query: dict[str, Any]) -> Request:
        if query:
            path += f"?{urlencode(query)}"
        return Request(title, "GET", path, self.headers)

    def post(self, title: str, path: str, fields: dict[str, Any]) -> Request:
        body = urlencode(fields, doseq=True).encode()
        return Request(f"POST {title}", "POST", path, self.headers, body, FORM)


def long_text(title: str, length: int) -> str:
    """Return a text that has about this length when it is encoded."""
    part = TEXTS[title]
    return part * (length // len(quote(part)))
