"""Find texts of the apps and the service that a page shows in English although
they have a German translation.
"""

import re
from html.parser import HTMLParser
from pathlib import Path

ROOT = Path(__file__).parents[2]
CATALOGS = [
    ROOT / app / "locale/de/LC_MESSAGES/django.po"
    for app in ("usergroups", "bookmarks", "bookmarks_service")
]

SHOWN_ATTRIBUTES = {"title", "aria-label", "placeholder", "data-copied"}
GERMAN = {"HTTP_ACCEPT_LANGUAGE": "de"}


def read_catalog(path):
    """Return pairs of an English text, which may be a plural, and the first
    German translation of the entry.
    """
    text = path.read_text().replace('"\n"', "").replace('\\"', '"')
    entries = re.findall(
        r'^msgid "(.+)"\n(?:msgid_plural "(.+)"\n)?msgstr(?:\[0\])? "(.*)"$',
        text,
        re.MULTILINE,
    )
    return [
        (english, german) for *texts, german in entries for english in texts if english
    ]


class ShownTexts(HTMLParser):
    """Collects the texts that a page shows: those between tags, of buttons and
    in some attributes.
    """

    def __init__(self, page):
        super().__init__()
        self.texts = set()
        self.feed(page)

    def handle_data(self, data):
        self.texts.add(" ".join(data.split()).rstrip(":"))

    def handle_starttag(self, tag, attributes):
        shown = set(SHOWN_ATTRIBUTES)
        if tag == "input" and ("type", "submit") in attributes:
            shown.add("value")  # the text of the button
        self.texts |= {value for name, value in attributes if name in shown and value}


def patterns_of(text):
    """Yield a regular expression for each part of a translated text between
    two tags.

    Leave out parts without letters, and "in %(time)s", because German texts
    also begin with "in".
    """
    for part in re.split("<[^>]+>", text):
        words = re.split(r"%\(\w+\)s", part.strip(" ,:"))
        if re.search("[A-Za-z]", "".join(words)) and words != ["in ", ""]:
            yield ".+".join(re.escape(word) for word in words)


TRANSLATED = [
    re.compile(f",? ?{pattern}", re.IGNORECASE)  # A page may join texts with commas.
    for path in CATALOGS
    for english, german in read_catalog(path)
    if english.lower() != german.lower()
    for pattern in patterns_of(english)
]
"""Patterns of the English texts in the catalogs whose translation is another
text.
"""

NOT_TRANSLATED_BY_DJANGO = re.compile(
    "Are you sure you want to delete the .+ related items will be deleted|Add link"
)
"""Texts of Django that some of its versions have not translated."""


def in_english(page):
    """Return the texts that the page shows in English although the catalogs
    translate them.
    """
    texts = {
        text
        for text in ShownTexts(page).texts
        if not NOT_TRANSLATED_BY_DJANGO.match(text)
    }
    return {
        text for text in texts if any(pattern.fullmatch(text) for pattern in TRANSLATED)
    }
