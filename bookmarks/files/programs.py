"""The names and the shapes by which the files of programs differ.

Everything that is only true for one program is here, under its name.
"""

import re

# The names of the fields, as ``fields.normalized`` returns them, and some of
# the programs that write them. If a record has several names for a field, the
# first one here that has a value counts. Only tags and notes are taken from all
# of them.
NAMES: dict[str, dict[str, str]] = {
    "url": {
        "url": "most programs",
        "uri": "Firefox",
        "href": "Pinboard, and links in HTML",
        "link": "Raindrop (API), TikTok",
        "address": "spreadsheets",
        "websiteurl": "spreadsheets",
        "content.url": "Karakeep",
    },
    "title": {
        "customtitle": "Toby",
        "title": "most programs",
        "name": "Chrome, Linkwarden, Notion",
    },
    "collection": {
        "collection": "this service, Raindrop (API)",
        "folder": "Instapaper, Raindrop",
    },
    "created_at": {
        "createdat": "this service, Diigo, Karakeep, Linkwarden, wallabag",
        "created": "Delicious, mymind, Notion, Raindrop, Readeck, Shaarli",
        "adddate": "browsers (HTML)",
        "addedat": "GoodLinks",
        "added": "XBEL",
        "timeadded": "Pocket",
        "timestamp": "Instapaper",
        "time": "Pinboard, Pocket (HTML)",
        "dateadded": "Chrome, Firefox, linkding",
        "dateaddedutc": "Firefox's add-ons",
        "savedat": "Omnivore",
        "saveddate": "Readwise",
        "lastinteractiondate": "Matter",
        "lastaccessed": "Tab Session Manager",
        "date": "TikTok",
    },
    "tags": {
        "tags": "most programs",
        "tagnames": "linkding",
        "labels": "Omnivore, Readeck",
        "documenttags": "Readwise",
    },
    "note": {
        "note": "this service, Karakeep, mymind, Raindrop",
        "description": "most programs",
        "customdescription": "Toby",
        "extended": "Pinboard",
        "summary": "GoodLinks",
        "excerpt": "Raindrop",
        "selection": "Instapaper",
        "notes": "linkding",
        "comment": "Google (saved pages)",
        "comments": "Diigo",
        "highlights": "GoodLinks, Omnivore",
        "annotations": "Diigo, wallabag",
    },
}

# The keys of the texts in an object that is a tag or a highlight.
TEXT_KEYS = {
    "name": "tags of Linkwarden",
    "label": "tags of wallabag",
    "quote": "annotations of wallabag",
    "text": "annotations of wallabag, highlights of Raindrop",
    "content": "highlights of GoodLinks",
    "annotation": "highlights of Omnivore",
    "note": "highlights of GoodLinks and Raindrop",
    "comment": "highlights of Diigo",
}

# Pinboard separates tags by spaces. In its JSON, the note is "extended" and the
# description is the title.
PINBOARD_NOTE = "extended"
PINBOARD_URL = "href"
PINBOARD_TITLE = "description"
# What Diigo writes for a bookmark without tags.
DIIGO_NO_TAGS = "no_tag"

# The marks around the notes after the description in linkding's HTML.
LINKDING_NOTES = "[linkding-notes]"
LINKDING_END_OF_NOTES = "[/linkding-notes]"

# The key of Karakeep's object with the URL. The names of its values begin with
# "content." in NAMES.
KARAKEEP_CONTENT = "content"
# The key of Karakeep's lists, and of the ids of its lists in a bookmark.
KARAKEEP_LISTS = "lists"

# The key of the id of the folder around a folder, in Linkwarden and Karakeep.
PARENT_ID = "parentid"

# Keys under which objects with URLs are not bookmarks, normalized.
NOT_BOOKMARKS = {
    "annotations": "wallabag",
    "highlights": "Omnivore",
    "media": "Raindrop (API)",
    "pinnedlinks": "Linkwarden",
    "rsssubscriptions": "Linkwarden",
}

# Values of "type" in JSON. Those with "moz" are Firefox's.
FOLDER_TYPES = ("folder", "text/x-moz-place-container")
FIREFOX_SEPARATOR = "text/x-moz-place-separator"

# The "root" of the folder in which Firefox repeats the bookmarks of each tag.
FIREFOX_TAGS = "tagsFolder"

# The folders that a browser has from the start, by their "root" in Firefox and
# their "guid" in Chrome.
#
# The names are those in the HTML files that the browser exports. A name is
# empty if the folder's bookmarks are at the top level there.
BROWSER_FOLDERS = {
    "placesRoot": "",
    "bookmarksMenuFolder": "",
    "toolbarFolder": "Bookmarks Toolbar",
    "unfiledBookmarksFolder": "Other Bookmarks",
    "mobileFolder": "Mobile Bookmarks",
    FIREFOX_TAGS: "",
    # Chrome's other and mobile bookmarks
    "82b081ec-3dd3-529c-8475-ab6c344590dd": "",
    "4cf2e351-0e85-532b-bb37-df045d8f8d0f": "",
}

# The beginnings of files that are exports of bookmarks even without one, as
# browsers, XBEL and this service write them.
EXPORT = re.compile(
    rb"""
    <!doctype\ netscape-bookmark-file-1
    | <xbel
    | "placesRoot" | "bookmark_bar"
    | \A(?:\xef\xbb\xbf)?url,title,collection,created_at,tags,note
    | \A\{"collection":\ "
    """,
    re.IGNORECASE | re.VERBOSE,
)
