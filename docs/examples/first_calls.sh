#!/bin/sh
# The first calls: create a user group, issue an access token for it, create a
# bookmark, and list the bookmarks. It can be repeated.
#
# BASE_URL   such as https://bookmarks.example
# API_TOKEN  from the command create_api_token
#
# If curl does not trust the certificate, set CURL_CA_BUNDLE to the file of its
# issuer, only for this command.
set -eu

# Make the call METHOD PATH with the header AUTHORIZATION and, if it is given, a
# BODY. The header is sent over a pipe, because any user can see arguments.
call() {
    method=$1 path=$2 authorization=$3
    shift 3
    printf 'Authorization: %s\n' "$authorization" |
        curl --silent --show-error --fail-with-body --write-out '\n' \
            --request "$method" "$BASE_URL$path" --header @- \
            ${1+--header 'Content-Type: application/json' --data "$1"}
}

# Wait for up to 30 seconds for a service that has just been started. If it is not
# ready then, show its response, or why there is none.
ready="$BASE_URL/readyz"
curl --silent --fail --retry 30 --retry-delay 1 --retry-max-time 30 \
    --retry-connrefused --output /dev/null "$ready" ||
    { curl --silent --show-error --write-out '\n' "$ready" >&2; exit 1; }

call POST /api/user "Token $API_TOKEN" \
    '{"user_group_id": "acme-1", "name": "Acme One"}'
issued=$(call POST /api/user/access-tokens "Token $API_TOKEN" \
    '{"user_group_id": "acme-1", "name": "First calls", "expires_in": 3600}')
access_token=$(echo "$issued" | sed 's/.*"secret":"\([^"]*\)".*/\1/')
call POST /v1/bookmarks "Bearer $access_token" \
    '{"url": "https://example.com/", "title": "Example"}'
call GET /v1/bookmarks "Bearer $access_token"
