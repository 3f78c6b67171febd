"""The bookmark operations, and those on files and access tokens."""

import logging
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from datetime import timedelta
from itertools import starmap
from typing import Any, cast
from uuid import UUID

from django.db import Error, IntegrityError, router
from django.db.models import Q, Value
from django.http import StreamingHttpResponse
from django.utils import timezone
from django.utils.encoding import escape_uri_path
from django.utils.functional import cached_property
from rest_framework.exceptions import UnsupportedMediaType
from rest_framework.request import Request
from rest_framework.response import Response

from usergroups.api import batches
from usergroups.api.bodies import read_chunks
from usergroups.api.envelopes import Envelope
from usergroups.api.errors import MissingField, Protected, failure
from usergroups.api.page_queries import pop_paging
from usergroups.api.pagination import Page
from usergroups.api.parsers import BatchParser
from usergroups.api.preconditions import PreconditionFailed, accepted_versions
from usergroups.api.requests import APIRequest
from usergroups.api.scan_pages import ScanPage
from usergroups.db.deletion import ProtectingError, TooManyDependants
from usergroups.db.retry import retry_on_conflict
from usergroups.db.versions import Modified
from usergroups.db.waiting import atomic_without_waiting
from usergroups.events import Event
from usergroups.exceptions import TooLargeToDelete, UserGroupNotFound
from usergroups.models import UserGroup
from usergroups.tokens.models import TooManyTokens
from usergroups.tokens.views import RotateTokenView, TokenView
from usergroups.views import ApiTokenView

from . import conf, exceptions, openapi, serializers, web_url
from .authentication import AccessTokenAuthentication
from .deletions import Deletion
from .files import ANY_FORMAT, EXPORT_FORMATS, FORMATS_BY_TYPE, MEDIA_TYPES
from .files.content import UnreadableFile, copied, open_content
from .files.decoding import encoding_name
from .files.exporting import StorageUnavailable, download, load
from .files.import_events import record_export
from .files.importing import read, store
from .files.report import Report
from .models import AccessToken, Bookmark, Collection
from .public_ids import Duplicate
from .querysets import CollectionQuerySet, Stored, TooManyFound
from .search import WITHOUT_INDEX, SearchPage

logger = logging.getLogger(__name__)


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

    @cached_property
    def user_group(self) -> UserGroup:
        return cast(AccessToken, self.request.auth).user_group

    @property
    def collections(self) -> CollectionQuerySet:
        return Collection.objects.filter(user_group=self.user_group)

    def get_collection(self, public_id: str) -> Collection:
        """Return the user group's collection with this id, to which a field of
        the request refers.

        Raises InvalidCollection.
        """
        collection = Collection.objects.find_by_id(
            self.user_group, public_id, for_write=True
        )
        if collection is None:
            raise exceptions.InvalidCollection
        return collection

    def validated_with_collection(self) -> dict[str, Any]:
        """Return the validated data with the collection in place of its id, if
        there is one.

        Raises ValidationError.
        """
        fields = self.validated()
        if fields.get("collection") is not None:
            fields["collection"] = self.get_collection(fields["collection"])
        return fields

    @contextmanager
    def require_collection(self, collection: Collection | None) -> Iterator[None]:
        """Raise InvalidCollection if a write fails because the collection has
        been deleted since it was read.
        """
        try:
            yield
        except IntegrityError:
            if collection is None or self.collections.for_write().contains(collection):
                raise
            raise exceptions.InvalidCollection from None

    def location_of(self, key: UUID) -> str:
        """Return the path of the object with this key.

        The request is to its list, or to another object of its list.
        """
        path = escape_uri_path(self.request.path)
        if "id" in self.kwargs:
            path = path.rpartition("/")[0]
        return f"{path}/{key}"


class DescribeAccessTokenView(AccessTokenView):
    response_serializers = {"GET": serializers.DescribedAccessTokenEnvelope}
    # loaded for the user group in the response
    large_owner_fields = {"GET": ("properties",), "HEAD": ("properties",)}

    @openapi.get_access_token
    def get(self, request: Request) -> Response:
        return self.respond({"token": request.auth, "user_group": self.user_group})


class RotateAccessTokenView(RotateTokenView, AccessTokenView):
    @openapi.rotate_access_token
    def post(self, request: Request) -> Response:
        return self.rotate(request)


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
    large_owner_fields = {"POST": ("properties",)}
    # A character of the parameter ``url`` may take twelve bytes, as in
    # %F0%9F%98%80.
    max_query_length = AccessTokenView.max_query_length + 12 * web_url.MAX_LENGTH

    def is_costly(self, request: APIRequest) -> bool:
        if self.documented_method == "GET" and {"q", "tag"} & {*request.query_params}:
            return True
        return super().is_costly(request)

    @openapi.list_bookmarks
    def get(self, request: Request) -> Response:
        query = self.validated_with_collection()
        paging = pop_paging(query)
        without_index = {
            name: query.pop(name)
            for name in WITHOUT_INDEX[paging["time_field"]]
            if name in query
        }
        bookmarks = Bookmark.objects.filter_by_query(self.user_group, query)
        page: Page[Bookmark]
        if without_index:
            page = SearchPage(bookmarks, without_index, **paging)
        else:
            page = Page(bookmarks, "id", **paging)
        return self.respond({"bookmarks": page.items, **page.links(request)})

    @openapi.create_bookmark
    def post(self, request: Request) -> Response:
        fields = self.validated_with_collection()
        user_group = self.user_group
        with self.require_collection(fields.get("collection")):
            bookmark, created = Bookmark.objects.add(user_group=user_group, **fields)
        data = {"user_group": user_group, "bookmark": bookmark}
        if not created:
            return self.respond(data, etag_of=bookmark)
        location = self.location_of(bookmark.pk)
        return self.respond(data, etag_of=bookmark, status=201, location=location)


class BookmarkView(AccessTokenView):
    request_serializers = {"PATCH": serializers.BookmarkUpdateSerializer}
    response_serializers = {
        "GET": serializers.BookmarkEnvelope,
        "PATCH": serializers.BookmarkEnvelope,
        "DELETE": Envelope,
    }

    @openapi.get_bookmark
    def get(self, request: Request, id: str) -> Response:
        bookmark = Bookmark.objects.find_by_id(self.user_group, id)
        if bookmark is None:
            raise exceptions.BookmarkNotFound
        return self.respond({"bookmark": bookmark}, etag_of=bookmark)

    @openapi.update_bookmark
    def patch(self, request: Request, id: str) -> Response:
        fields = self.validated_with_collection()
        versions = accepted_versions(request)
        try:
            with self.require_collection(fields.get("collection")):
                bookmark = Bookmark.objects.update_by_id(
                    self.user_group, id, versions, **fields
                )
        except Duplicate as duplicate:
            field = "url" if "url" in fields else "collection"
            location = self.location_of(duplicate.key)
            raise exceptions.BookmarkExists(duplicate.key, field, location) from None
        return self.respond({"bookmark": bookmark}, etag_of=bookmark)

    @openapi.delete_bookmark
    def delete(self, request: Request, id: str) -> Response:
        versions = accepted_versions(request)
        Bookmark.objects.delete_by_id(self.user_group, id, versions)
        return self.respond({})


class BookmarkBatchView(AccessTokenView):
    request_serializers = {"POST": serializers.BookmarkBatchSerializer}
    response_serializers = {"POST": serializers.BookmarkBatchEnvelope}
    # loaded for the user group in the response
    large_owner_fields = {"POST": ("properties",)}
    costly_methods = ("POST",)
    parser_classes = [BatchParser]

    @openapi.create_bookmarks
    def post(self, request: Request) -> Response:
        fields = self.validated()
        items = fields["bookmarks"]
        update = fields.get("update", False)
        using = Bookmark.objects.for_write().db
        return retry_on_conflict(lambda: self.store(items, update), using, atomic=False)

    def store(self, items: list[Any], update: bool) -> Response:
        """Store the valid items, and return a response with all results.

        Raises IntegrityError if a collection has been deleted meanwhile.
        """
        items = self.with_collections(items)
        stored = Bookmark.objects.add_many(
            self.user_group, batches.valid(items), update=update
        )
        results = batches.results(items, map(self.result, stored))
        return self.respond({"user_group": self.user_group, "results": results})

    def result(self, stored: Stored) -> dict[str, Any]:
        return {
            "bookmark": stored.bookmark,
            "changed": stored.changed,
            "updated_at": stored.bookmark.updated_at,
            "status": 201 if stored.created else 200,
        }

    def with_collections(self, items: list[Any]) -> list[Any]:
        """Return the items with collections in place of their ids.

        An item whose collection does not exist is replaced by a FailedItem.
        The collections are read at once.
        """
        ids = [item.get("collection") for item in batches.valid(items)]
        collections = Collection.objects.for_write().find_by_ids(self.user_group, ids)
        resolved = []
        for item in items:
            public_id = item.get("collection")
            if public_id is None:
                resolved.append(item)
            elif public_id in collections:
                resolved.append({**item, "collection": collections[public_id]})
            else:
                resolved.append(batches.failed(exceptions.InvalidCollection()))
        return resolved


class BookmarkBatchDeletionView(AccessTokenView):
    request_serializers = {"POST": serializers.BookmarkIdsSerializer}
    response_serializers = {"POST": serializers.BookmarkDeletionEnvelope}
    costly_methods = ("POST",)

    @openapi.delete_bookmarks
    def post(self, request: Request) -> Response:
        ids = self.validated()["ids"]
        existed = Bookmark.objects.delete_by_ids(self.user_group, batches.valid(ids))
        deletions = map(self.result, existed)
        return self.respond({"results": batches.results(ids, deletions)})

    def result(self, existed: bool | ProtectingError) -> dict[str, Any]:
        """Return the result of an item, for what ``delete_by_ids`` returns."""
        if isinstance(existed, ProtectingError):
            return batches.failed(Protected(existed))
        if not existed:
            return batches.failed(exceptions.BookmarkNotFound())
        return {"status": 200, "changed": True}


class BookmarkBatchMoveView(AccessTokenView):
    request_serializers = {"POST": serializers.BookmarkMoveSerializer}
    response_serializers = {"POST": serializers.BookmarkMoveEnvelope}
    costly_methods = ("POST",)

    @openapi.move_bookmarks
    def post(self, request: Request) -> Response:
        fields = self.validated_with_collection()
        ids = fields["ids"]
        collection = fields["collection"]
        with self.require_collection(collection):
            outcomes = Bookmark.objects.move_by_ids(
                self.user_group, batches.valid(ids), collection
            )
        moves = starmap(self.result, outcomes)
        return self.respond({"results": batches.results(ids, moves)})

    def result(self, found: Bookmark | Duplicate | None, moved: bool) -> dict[str, Any]:
        """Return the result of an item, for what ``move_by_ids`` returns."""
        if found is None:
            return batches.failed(exceptions.BookmarkNotFound())
        if isinstance(found, Duplicate):
            return batches.failed(exceptions.BookmarkExists(found.key))
        return {
            "bookmark": found,
            "changed": moved,
            "updated_at": found.updated_at,
            "status": 200,
        }


class BookmarkLookupView(AccessTokenView):
    request_serializers = {"POST": serializers.BookmarkLookupSerializer}
    response_serializers = {"POST": serializers.BookmarkLookupEnvelope}
    # A read-only token may call these methods.
    safe_methods = ("POST",)
    costly_methods = ("POST",)
    parser_classes = [BatchParser]
    errors = {
        **AccessTokenView.errors,
        TooManyFound: exceptions.TooManyBookmarksFound,
    }

    @openapi.lookup_bookmarks
    def post(self, request: Request) -> Response:
        urls = self.validated()["urls"]
        found = Bookmark.objects.find_by_urls(self.user_group, batches.valid(urls))
        lookups = ({"ids": ids, "status": 200} for ids in found)
        return self.respond({"results": batches.results(urls, lookups)})


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
            location = self.location_of(duplicate.key)
            raise exceptions.CollectionExists(duplicate.key, location) from None
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
        collection = Collection.objects.find_by_id(self.user_group, id)
        if collection is None:
            raise exceptions.CollectionNotFound
        return self.respond({"collection": collection}, etag_of=collection)

    @openapi.update_collection
    def patch(self, request: Request, id: str) -> Response:
        fields = self.validated()
        try:
            collection = Collection.objects.update_by_id(
                self.user_group, id, accepted_versions(request), **fields
            )
        except Duplicate as duplicate:
            location = self.location_of(duplicate.key)
            raise exceptions.CollectionExists(duplicate.key, location) from None
        return self.respond({"collection": collection}, etag_of=collection)

    @openapi.delete_collection
    def delete(self, request: Request, id: str) -> Response:
        versions = accepted_versions(request)
        Collection.objects.delete_by_id(self.user_group, id, versions)
        return self.respond({})


class DeletionsView(AccessTokenView):
    request_serializers = {"GET": serializers.BookmarkDeletionListQuery}
    response_serializers = {"GET": serializers.DeletionListEnvelope}

    @openapi.list_deletions
    def get(self, request: Request) -> Response:
        deletions = Deletion.objects.filter(user_group=self.user_group)
        page = Page(deletions, "id", **pop_paging(self.validated()))
        return self.respond({"deletions": page.items, **page.links(request)})


class ImportView(AccessTokenView):
    methods_with_query = ("POST",)
    request_serializers = {"POST": serializers.ImportQuery}
    response_serializers = {"POST": serializers.ImportEnvelope}
    costly_methods = ("POST",)

    @openapi.import_bookmarks
    def post(self, request: Request) -> Response:
        format_name = self.format_of(request)
        encoding = self.encoding_of(request)
        api_request = cast(APIRequest, request)
        max_size = conf.max_import_size()
        with ExitStack() as open_files:
            try:
                body = copied(read_chunks(api_request, max_size))
                file = open_files.enter_context(body)
            except OSError as error:
                raise StorageUnavailable from error
            # The size is checked before the parameters.
            if format_name is None:
                raise MissingField("format")
            query = self.validated_with_collection()
            report = Report()
            try:
                content, _ = open_content(file, "", max_size)
            except UnreadableFile as error:
                report.error = str(error)
                return self.respond_unreadable(report)
            collection = query.get("collection")
            deadline = api_request.deadline
            records = read(content, format_name, encoding, deadline)
            try:
                with self.require_collection(collection):
                    store(
                        self.user_group,
                        records,
                        report,
                        collection,
                        query["update"],
                        deadline=deadline,
                    )
            except exceptions.InvalidCollection:
                if report.has_no_bookmark:
                    raise
                # What was stored before the deletion of the collection stays.
                report.error = exceptions.NO_SUCH_COLLECTION
        has_failed = report.error or report.refused
        if has_failed and report.has_no_bookmark and not report.stopped_at:
            return self.respond_unreadable(report)
        return self.respond({"report": report})

    def respond_unreadable(self, report: Report) -> Response:
        """Return the error response for a file without any usable bookmark,
        with the report.
        """
        error = exceptions.UnreadableImport(report.error)
        described = serializers.ReportSerializer(report).data
        return Response({**failure(error), "report": described}, error.status_code)

    def format_of(self, request: Request) -> str | None:
        """Return the name of the format that the parameter or the Content-Type
        names, or None.

        Raises UnsupportedMediaType.
        """
        media_type = request.content_type.partition(";")[0].strip().lower()
        format_name = request.query_params.get("format")
        if format_name is None:
            format_name = FORMATS_BY_TYPE.get(media_type)
        if format_name is None and media_type != ANY_FORMAT:
            raise UnsupportedMediaType(request.content_type)
        return format_name

    def encoding_of(self, request: Request) -> str | None:
        """Return the encoding that the Content-Type names, or None.

        Raises UnsupportedMediaType.
        """
        charset = (request.content_params or {}).get("charset")
        if not charset:
            return None
        try:
            return encoding_name(charset)
        except ValueError:
            raise UnsupportedMediaType(request.content_type) from None


class ExportView(AccessTokenView):
    request_serializers = {"GET": serializers.ExportQuery}
    costly_methods = ("GET",)

    @openapi.export_bookmarks
    def get(self, request: Request) -> StreamingHttpResponse:
        query = self.validated_with_collection()
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
        collection = query.get("collection")
        items_of_export = load(
            self.user_group,
            collection,
            # The parameter is empty.
            without_collections="collection" in query and collection is None,
        )
        # Close the items after an error, because they keep a transaction open.
        with closing(items_of_export) as items:
            text = EXPORT_FORMATS[format_name].write(items)
            response = download(text, cast(APIRequest, request).deadline, **options)
        self.record(format_name)
        return response

    def record(self, format_name: str) -> None:
        """Record the export without waiting, because the call only reads.

        An error is logged.
        """
        try:
            with atomic_without_waiting(router.db_for_write(Event)):
                record_export(self.user_group, format_name)
        except Error:
            logger.warning("Could not record an export.", exc_info=True)


FIELDS_OF_OWNER = ("provided_id", "team", "environment")
"""The fields of a user group that are read to issue an access token."""


def with_expiry(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a new access token with its ``expires_at`` in place
    of ``expires_in``, if they have it.
    """
    if "expires_in" not in fields:
        return fields
    lifetime = timedelta(seconds=fields.pop("expires_in"))
    return {**fields, "expires_at": timezone.now() + lifetime}


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
        provided_id = query.pop("provided_id")
        user_group = self.user_groups.only("provided_id").get(provided_id=provided_id)
        page = Page(user_group.access_tokens.all(), "digest", **query)
        return self.respond({"access_tokens": page.items, **page.links(request)})

    @openapi.issue_access_token
    def post(self, request: Request) -> Response:
        fields = with_expiry(self.validated())
        provided_id = fields.pop("provided_id")
        user_groups = self.user_groups.for_write().only(*FIELDS_OF_OWNER)
        user_group = user_groups.get(provided_id=provided_id)
        try:
            token, secret = AccessToken.objects.issue(user_group=user_group, **fields)
        except IntegrityError:
            # The user group has just been deleted.
            raise UserGroupNotFound from None
        # for this response only
        token.secret = secret  # type: ignore[attr-defined]
        # The list of its tokens, because a single one cannot be read.
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
        tokens = AccessToken.objects.for_write().filter(**self.token.scope)
        tokens.get_by_public_id(id).revoke()
        return self.respond({})


class AccessTokenBatchView(ApiTokenView):
    request_serializers = {"POST": serializers.AccessTokenBatchSerializer}
    response_serializers = {"POST": serializers.AccessTokenBatchEnvelope}
    costly_methods = ("POST",)

    @openapi.issue_access_tokens
    def post(self, request: Request) -> Response:
        fields = with_expiry(self.validated())
        ids = fields.pop("user_group_ids")
        using = AccessToken.objects.for_write().db
        return retry_on_conflict(lambda: self.issue(ids, fields), using)

    def issue(self, ids: list[Any], fields: dict[str, Any]) -> Response:
        """Issue the tokens, and return a response with all results.

        Raises IntegrityError if a user group has been deleted meanwhile.
        """
        items = self.with_user_groups(ids)
        issued = AccessToken.objects.issue_for_each(
            batches.valid(items), **self.token.scope, **fields
        )
        results = batches.results(items, map(self.result, issued))
        return self.respond({"results": results})

    def with_user_groups(self, ids: list[Any]) -> list[Any]:
        """Return the user groups with these ids, and a FailedItem for each
        that does not exist.
        """
        found = self.user_groups.for_write().only(*FIELDS_OF_OWNER)
        found = found.filter(provided_id__in=batches.valid(ids))
        user_groups = {user_group.provided_id: user_group for user_group in found}
        items: list[Any] = []
        for each in ids:
            if isinstance(each, batches.FailedItem):
                items.append(each)
            elif each in user_groups:
                items.append(user_groups[each])
            else:
                items.append(batches.failed(UserGroupNotFound()))
        return items

    def result(self, issued: tuple[AccessToken, str] | None) -> dict[str, Any]:
        """Return the result of an item, for what ``issue_for_each`` returns."""
        if issued is None:
            return batches.failed(exceptions.TooManyAccessTokens())
        token, secret = issued
        # for this response only
        token.secret = secret  # type: ignore[attr-defined]
        return {"access_token": token, "status": 201, "changed": True}


class AccessTokenBatchRevocationView(ApiTokenView):
    request_serializers = {"POST": serializers.AccessTokenIdsSerializer}
    response_serializers = {"POST": serializers.AccessTokenRevocationEnvelope}
    costly_methods = ("POST",)

    @openapi.revoke_access_tokens
    def post(self, request: Request) -> Response:
        ids = self.validated()["ids"]
        tokens = AccessToken.objects.filter(**self.token.scope)
        revoked = tokens.revoke_by_public_ids(batches.valid(ids))
        results = batches.results(ids, map(self.result, revoked))
        return self.respond({"results": results})

    def result(self, revoked: bool | None) -> dict[str, Any]:
        """Return the result of an item, for what ``revoke_by_public_ids``
        returns.
        """
        if revoked is None:
            return batches.failed(exceptions.AccessTokenNotFound())
        return {"status": 200, "changed": revoked}


class TeamAccessTokensView(ApiTokenView):
    request_serializers = {"GET": serializers.TeamAccessTokenListQuery}
    response_serializers = {"GET": serializers.TeamAccessTokenListEnvelope}

    @openapi.list_team_access_tokens
    def get(self, request: Request) -> Response:
        query = self.validated()
        expires_before = query.pop("expires_before", None)
        tokens = AccessToken.objects.filter(**self.token.scope)
        tokens = tokens.select_related("user_group")
        tokens = tokens.defer("user_group__mapping", "user_group__properties")
        page: Page[AccessToken]
        if expires_before is None:
            page = Page(tokens, "digest", **query)
        else:
            # The size to search counts as zero. Only the number of tokens is
            # limited.
            page = ScanPage(
                tokens,
                "digest",
                condition=Q(expires_at__lt=expires_before),
                size=Value(0),
                **query,
            )
        return self.respond({"access_tokens": page.items, **page.links(request)})
