"""What operators do most often, as clicks and key presses in the admin, for tests and for a benchmark."""

import re

from playwright.sync_api import expect

from tests.admin.browser import clipboard

CLICK, FIELD, KEY = 2.65, 0.8, 0.28
"""Seconds of the keystroke-level model: decide, point and click; move a hand to the keyboard and back; press a key."""


class Walk:
    """Use a page as an operator does, and count what that takes."""

    def __init__(self, page):
        self.page = page
        self.clicks = self.fields = self.keys = 0

    def click(self, locator):
        locator.click()
        self.clicks += 1

    def type(self, locator, text):
        """Click on a field and type a text."""
        self.click(locator)
        locator.press_sequentially(text)
        self.fields += 1
        self.keys += len(text)

    def paste(self, locator, text):
        """Click on a field and paste a text from the clipboard, with two keys."""
        self.click(locator)
        locator.fill(text)
        self.fields += 1
        self.keys += 2

    def press(self, key):
        self.page.keyboard.press(key)
        self.keys += 1

    def find(self, text):
        """Paste a text into the search field in the header."""
        self.paste(self.page.get_by_role("search").get_by_role("searchbox"), text)
        self.press("Enter")

    @property
    def seconds(self):
        """The time that an operator needs, without that of the service."""
        return self.clicks * CLICK + self.fields * FIELD + self.keys * KEY


def revoke_leaked(walk, secret):
    """From a leaked secret in the clipboard to its revocation."""
    page = walk.page
    walk.find(secret)
    walk.click(page.get_by_role("button", name="Revoke", exact=True))
    expect(page.get_by_text("This cannot be undone.")).to_be_visible()
    walk.click(page.get_by_role("button", name="Revoke"))
    expect(page.get_by_text("Revoked: 1.")).to_be_visible()


def issue_for_new_team(walk, name):
    """From nothing to the secret of a new team's API token. Return the secret, which is in the clipboard."""
    page = walk.page
    walk.click(page.get_by_role("navigation", name="Lists").get_by_role("link", name="Teams"))
    walk.click(page.get_by_role("link", name="Add team"))
    walk.type(page.locator("#id_name"), name)
    walk.click(page.get_by_role("button", name="Save and continue editing"))
    walk.click(page.get_by_role("link", name="Add API token here"))
    walk.type(page.locator("#id_name"), "Sync")
    walk.press("Enter")
    walk.click(page.get_by_role("button", name="Copy"))
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    return clipboard(page)


def show_bookmarks(walk, provided_id):
    """From a customer's id to the list of the customer's bookmarks."""
    page = walk.page
    walk.find(provided_id)
    walk.click(page.get_by_role("link", name=re.compile("^Bookmarks: ")))
    expect(page.locator("#result_list tbody tr").first).to_be_visible()
