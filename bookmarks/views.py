"""The bookmark operations, and those on files and access tokens."""

from contextlib import ExitStack, closing
from datetime import timedelta
from typing import Any, cast
from uuid import UUID

from django.db import IntegrityError
from django.http import StreamingHttpResponse
from django.utils import timezone
from django.utils.encoding import escape_uri_path
from django.utils.functional import cached_property
from rest_framework.exceptions import UnsupportedMediaType
from rest_framework.request import Request
from rest_framework.response import Response

from usergroups.api import batches
from usergroups.api.bodies import read_chunks
from usergroups.api.cursors import pop_paging
from usergroups.api.envelopes import Envelope
from usergroups.api.openapi import missing
from usergroups.api.pagination import Page
from usergroups.api.parsers import BatchParser
from usergroups.api.preconditions import PreconditionFailed, accepted_versions
from usergroups.api.requests import APIRequest
from usergroups.db.deletion import TooManyDependants
from usergroups.db.retry import retry_on_conflict
from usergroups.db.versions import Modified
from usergroups.exceptions import TooLargeToDelete, UserGroupNotFound
from usergroups.models import UserGroup
from usergroups.tokens.models import TooManyTokens
from usergroups.tokens.views import TokenView
from usergroups.views import ApiTokenView

from . import conf, exceptions, openapi, serializers, web_url
from .authentication import AccessTokenAuthentication
from .files import ANY_FORMAT, EXPORT_FORMATS, FORMATS_BY_TYPE, MEDIA_TYPES
from .files.content import UnreadableFile, copied, open_content
from .files.decoding import encoding_name
from .files.exporting import StorageUnavailable, download, load
from .files.importing import read, store
from .files.report import Report
from .models import AccessToken, Bookmark, Collection
from .public_ids import Duplicate
from .querysets import BookmarkQuerySet, CollectionQuerySet
from .search import SearchPage


class AccessTokenView(TokenView):
    """A view on the bookmarks and collections of the user group to which the
    access token belongs.
    """

    authentication_classes = [AccessTokenAuthentication]
    errors = {
        Bookmark.DoesNotExist: exceptions.BookmarkNotFound,
        Collection.DoesNotExist: exceptions.CollectionNotFound,
        Modified: PreconditionFailed,
        TooManyDependants: TooLargeToDelete,
    }

    collection: Collection | None = None
    """The collection to which the request refers, once it has been found."""

    @cached_property
    def user_group(self) -> UserGroup:
        return cast(AccessToken, self.request.auth).user_group

    @property
    def bookmarks(self) -> BookmarkQuerySet:
        return Bookmark.objects.filter(user_group=self.user_group)

    @property
    def collections(self) -> CollectionQuerySet:
        return Collection.objects.filter(user_group=self.user_group)

    def find_collection(self, public_id: str) -> Collection | None:
        """Return the user group's collection with this id, or None."""
        self.collection = Collection.objects.find(
            self.user_group, public_id, for_write=True
        )
        return self.collection

    def handle_exception(self, exc: Exception) -> Response:
        if isinstance(exc, IntegrityError) and self.collection:
            existing = self.collections.for_write()
            if not existing.contains(self.collection):
                # It has been deleted since it was found.
                exc = exceptions.InvalidCollection()
        return super().handle_exception(exc)

    def location_of(self, key: UUID) -> str:
        """Return the path of the object with this key.

        The request is to its list, or to another object of its list.
        """
        path = escape_uri_path(self.request.path)
        return f"{path.rpartition('/')[0] if 'id' in self.kwargs else path}/{key}"


class BookmarksView(AccessTokenView):
    request_serializers = {
        "GET": serializers.BookmarkListQuery,
        "POST": serializers.BookmarkCreateSerializer,
    }
    response_serializers = {
        "GET": serializers.BookmarkListEnvelope,
        "POST": serializers.NewBookmarkEnvelope,
    }
    # loaded for the user group in the response
    owner_fields = {"POST": ("properties",)}
    # A character of the parameter ``url`` may take twelve bytes, as in
    # %F0%9F%98%80.
    max_query_length = AccessTokenView.max_query_length + 12 * web_url.MAX_LENGTH

    def is_costly(self, request: APIRequest) -> bool:
        is_search = self.documented_method == "GET" and "q" in request.query_params
        return is_search or super().is_costly(request)

    @openapi.list_bookmarks
    def get(self, request: Request) -> Response:
        query = self.validated(find_collection=self.find_collection)
        paging = pop_paging(query)
        bookmarks = Bookmark.objects.matching(self.user_group, query)
        is_search = not {"q", "updated_since"}.isdisjoint(query)
        page = (
            SearchPage(bookmarks, query, **paging)
            if is_search
            else Page(bookmarks, "id", **paging)
        )
        return self.respond({"bookmarks": page.items, **page.links(request)})

    @openapi.create_bookmark
    def post(self, request: Request) -> Response:
        fields = self.validated(find_collection=self.find_collection)
        user_group = self.user_group
        bookmark, created = Bookmark.objects.add(user_group=user_group, **fields)
        data = {"user_group": user_group, "bookmark": bookmark}
        if not created:
            return self.respond(data, etag_of=bookmark)
        return self.respond(
            data, etag_of=bookmark, status=201, location=self.location_of(bookmark.pk)
        )


class BookmarkView(AccessTokenView):
    request_serializers = {"PATCH": serializers.BookmarkUpdateSerializer}
    response_serializers = {
        "GET": serializers.BookmarkEnvelope,
        "PATCH": serializers.BookmarkEnvelope,
        "DELETE": Envelope,
    }

    @openapi.get_bookmark
    def get(self, request: Request, id: str) -> Response:
        if (bookmark := Bookmark.objects.find(self.user_group, id)) is None:
            raise exceptions.BookmarkNotFound
        return self.respond({"bookmark": bookmark}, etag_of=bookmark)

    @openapi.update_bookmark
    def patch(self, request: Request, id: str) -> Response:
        fields = self.validated(find_collection=self.find_collection)
        try:
            bookmark = self.bookmarks.change(id, accepted_versions(request), **fields)
        except Duplicate as duplicate:
            location = self.location_of(duplicate.key)
            raise exceptions.BookmarkExists(
                "url" if "url" in fields else "collection", location
            ) from None
        return self.respond({"bookmark": bookmark}, etag_of=bookmark)

    @openapi.delete_bookmark
    def delete(self, request: Request, id: str) -> Response:
        self.bookmarks.remove(id, accepted_versions(request))
        return self.respond({})


class BookmarkBatchView(AccessTokenView):
    request_serializers = {"POST": serializers.BookmarkBatchSerializer}
    response_serializers = {"POST": serializers.BookmarkBatchEnvelope}
    # loaded for the user group in the response
    owner_fields = {"POST": ("properties",)}
    costly_methods = ("POST",)
    parser_classes = [BatchParser]

    @openapi.create_bookmarks
    def post(self, request: Request) -> Response:
        return retry_on_conflict(self.create, self.bookmarks.db_for_write, atomic=False)

    def create(self) -> Response:
        """Look up all collections at once, and store the valid items. post()
        repeats it if a collection is deleted.
        """
        sent = cast(dict[str, Any], self.request.data).get("bookmarks")
        unvalidated = sent[: batches.MAX_ITEMS] if isinstance(sent, list) else []
        ids = [item.get("collection") for item in unvalidated if isinstance(item, dict)]
        collections = self.collections.for_write().by_public_id(ids)
        items = self.validated(find_collection=collections.get)["bookmarks"]
        stored = (
            {"bookmark": bookmark, "status": 201 if created else 200}
            for bookmark, created in Bookmark.objects.add_many(
                self.user_group, batches.valid(items)
            )
        )
        return self.respond(
            {"user_group": self.user_group, "results": batches.results(items, stored)}
        )


class BookmarkBatchDeletionView(AccessTokenView):
    request_serializers = {"POST": serializers.BookmarkIdsSerializer}
    response_serializers = {"POST": serializers.BookmarkDeletionEnvelope}
    costly_methods = ("POST",)

    @openapi.delete_bookmarks
    def post(self, request: Request) -> Response:
        ids = self.validated()["ids"]
        existed = self.bookmarks.remove_many(batches.valid(ids))
        deletions = (
            {"status": 200} if found else batches.failed(exceptions.BookmarkNotFound())
            for found in existed
        )
        return self.respond({"results": batches.results(ids, deletions)})


class BookmarkBatchMoveView(AccessTokenView):
    request_serializers = {"POST": serializers.BookmarkMoveSerializer}
    response_serializers = {"POST": serializers.BookmarkMoveEnvelope}
    costly_methods = ("POST",)

    @openapi.move_bookmarks
    def post(self, request: Request) -> Response:
        fields = self.validated(find_collection=self.find_collection)
        ids, collection = fields["ids"], fields["collection"]
        moved = self.bookmarks.move_many(batches.valid(ids), collection)
        failures: dict[Any, Any] = {
            None: exceptions.BookmarkNotFound,
            Duplicate: exceptions.BookmarkExists,
        }
        moves = (
            (
                batches.failed(failures[each]())
                if each in failures
                else {"bookmark": each, "status": 200}
            )
            for each in moved
        )
        return self.respond({"results": batches.results(ids, moves)})


class CollectionsView(AccessTokenView):
    request_serializers = {
        "GET": serializers.CollectionListQuery,
        "POST": serializers.CollectionWriteSerializer,
    }
    response_serializers = {
        "GET": serializers.CollectionListEnvelope,
        "POST": serializers.CollectionEnvelope,
    }

    @openapi.list_collections
    def get(self, request: Request) -> Response:
        query = self.validated()
        paging = pop_paging(query)
        page = Page(self.collections.filter(**query), "id", **paging)
        return self.respond({"collections": page.items, **page.links(request)})

    @openapi.create_collection
    def post(self, request: Request) -> Response:
        fields = self.validated()
        try:
            collection = Collection.objects.add(self.user_group, **fields)
        except Duplicate as duplicate:
            raise exceptions.CollectionExists(self.location_of(duplicate.key)) from None
        location = self.location_of(collection.pk)
        return self.respond(
            {"collection": collection},
            etag_of=collection,
            status=201,
            location=location,
        )


class CollectionView(AccessTokenView):
    request_serializers = {"PATCH": serializers.CollectionWriteSerializer}
    response_serializers = {
        "GET": serializers.CollectionEnvelope,
        "PATCH": serializers.CollectionEnvelope,
        "DELETE": Envelope,
    }

    @openapi.get_collection
    def get(self, request: Request, id: str) -> Response:
        if (collection := Collection.objects.find(self.user_group, id)) is None:
            raise exceptions.CollectionNotFound
        return self.respond({"collection": collection}, etag_of=collection)

    @openapi.update_collection
    def patch(self, request: Request, id: str) -> Response:
        fields = self.validated()
        try:
            collection = self.collections.change(
                id, accepted_versions(request), **fields
            )
        except Duplicate as duplicate:
            raise exceptions.CollectionExists(self.location_of(duplicate.key)) from None
        return self.respond({"collection": collection}, etag_of=collection)

    @openapi.delete_collection
    def delete(self, request: Request, id: str) -> Response:
        self.collections.remove(id, accepted_versions(request))
        return self.respond({})


class ImportView(AccessTokenView):
    methods_with_query = ("POST",)
    request_serializers = {"POST": serializers.ImportQuery}
    response_serializers = {"POST": serializers.ImportEnvelope}
    costly_methods = ("POST",)

    @openapi.import_bookmarks
    def post(self, request: Request) -> Response:
        media_type = request.content_type.partition(";")[0].strip().lower()
        format_name = request.query_params.get(
            "format", FORMATS_BY_TYPE.get(media_type)
        )
        if format_name is None and media_type != ANY_FORMAT:
            raise UnsupportedMediaType(request.content_type)
        try:
            charset = (request.content_params or {}).get("charset")
            encoding = encoding_name(charset) if charset else None
        except ValueError:
            raise UnsupportedMediaType(request.content_type) from None
        limit = conf.max_import_size()
        api_request = cast(APIRequest, request)
        report = Report()
        with ExitStack() as open_files:
            try:
                body = copied(read_chunks(api_request, limit))
                file = open_files.enter_context(body)
            except OSError as error:
                raise StorageUnavailable from error
            # The size is checked before the parameters.
            if format_name is None:
                raise missing("format")
            query = self.validated(find_collection=self.find_collection)
            try:
                content, _ = open_content(file, "", limit)
            except UnreadableFile as error:
                raise exceptions.UnreadableImport(str(error)) from None
            store(
                self.user_group,
                read(content, format_name, encoding),
                report,
                query.get("collection"),
                query["update"],
                deadline=api_request.deadline,
            )
        if report.error and report.is_of_nothing and not report.stopped_at:
            raise exceptions.UnreadableImport(report.error)
        return self.respond({"report": report})


class ExportView(AccessTokenView):
    request_serializers = {"GET": serializers.ExportQuery}
    costly_methods = ("GET",)

    @openapi.export_bookmarks
    def get(self, request: Request) -> StreamingHttpResponse:
        query = self.validated(find_collection=self.find_collection)
        format_name = query["format"]
        options: dict[str, Any] = {
            "content_type": f"{MEDIA_TYPES[format_name]}; charset=utf-8",
            "headers": {
                "Content-Disposition": (
                    f'attachment; filename="bookmarks.{format_name}"'
                )
            },
        }
        if request.method == "HEAD":
            return StreamingHttpResponse(**options)
        # Close the items after an error, because they keep a transaction open.
        with closing(load(self.user_group, query.get("collection"))) as items:
            text = EXPORT_FORMATS[format_name].write(items)
            return download(text, cast(APIRequest, request).deadline, **options)


class AccessTokensView(ApiTokenView):
    request_serializers = {
        "GET": serializers.AccessTokenListQuery,
        "POST": serializers.AccessTokenCreateSerializer,
    }
    response_serializers = {
        "GET": serializers.AccessTokenListEnvelope,
        "POST": serializers.IssuedAccessTokenEnvelope,
    }
    errors = {**ApiTokenView.errors, TooManyTokens: exceptions.TooManyAccessTokens}

    @openapi.list_access_tokens
    def get(self, request: Request) -> Response:
        query = self.validated()
        user_group = self.user_groups.only("provided_id").get(
            provided_id=query.pop("provided_id")
        )
        page = Page(user_group.access_tokens.all(), "digest", **query)
        return self.respond({"access_tokens": page.items, **page.links(request)})

    @openapi.issue_access_token
    def post(self, request: Request) -> Response:
        fields = self.validated()
        user_group = (
            self.user_groups.for_write()
            .only("provided_id")
            .get(provided_id=fields.pop("provided_id"))
        )
        if "expires_in" in fields:
            fields["expires_at"] = timezone.now() + timedelta(
                seconds=fields.pop("expires_in")
            )
        try:
            token, secret = AccessToken.objects.issue(user_group=user_group, **fields)
        except IntegrityError:  # the user group has just been deleted
            raise UserGroupNotFound from None
        token.secret = secret  # type: ignore[attr-defined]  # for this response only
        # the list of its tokens, because a single one cannot be read
        location = self.location_of(user_group)
        return self.respond({"access_token": token}, status=201, location=location)


class AccessTokenDetailView(ApiTokenView):
    response_serializers = {"DELETE": Envelope}
    errors = {
        **ApiTokenView.errors,
        AccessToken.DoesNotExist: exceptions.AccessTokenNotFound,
    }

    @openapi.revoke_access_token
    def delete(self, request: Request, id: str) -> Response:
        tokens = AccessToken.objects.for_write().filter(user_group__in=self.user_groups)
        tokens.get_by_public_id(id).revoke()
        return self.respond({})
