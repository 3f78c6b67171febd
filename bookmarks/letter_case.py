"""Texts that differ in letter case only.

Characters are compared one by one, so that the order of a text, such as the
position of a sigma, does not matter. Databases lower letters as their locale
says. A pattern with all spellings of each letter means the same on each.
"""

import re
from collections import defaultdict

# Later code points are no letters with two cases.
CODE_POINTS = 0x20000
BLOCK = 0x100


def fold_character(character: str) -> str:
    """Return the character that stands for it and its other cases."""
    for folded in (character.casefold(), character.lower()):
        if len(folded) == 1:
            return folded
    return character


FOLDS: dict[int, str] = {}
"""By code point, the characters that stand for others."""

SPELLINGS: dict[str, str] = defaultdict(str)
"""By the character that stands for them, the others."""

for start in range(0, CODE_POINTS, BLOCK):
    block = "".join(map(chr, range(start, start + BLOCK)))
    # Most blocks have no letters with two cases.
    if block == block.casefold():
        continue
    for character in block:
        folded = fold_character(character)
        if folded != character:
            FOLDS[ord(character)] = folded
            SPELLINGS[folded] += character


def fold(text: str) -> str:
    """Return a text that is equal for texts that differ in letter case only."""
    return text.translate(FOLDS)


def pattern(text: str) -> str:
    """Return the regular expression, for PostgreSQL and for Python, that finds
    the text in any letter case.
    """
    parts = []
    for character in fold(text):
        others = SPELLINGS.get(character)
        part = f"[{character}{others}]" if others else re.escape(character)
        parts.append(part)
    return "".join(parts)
