"""Statements that a session does not have: what they say, by their first words."""

from __future__ import annotations

import re

import sqlglot
from attrs import frozen
from hoodoo.errors import ConfigError
from sqlglot.tokens import TokenType

_NAME = r"(?P<name>(?:`[^`]+`|[\w-]+)(?:\.(?:`[^`]+`|[\w-]+))*)"
_BEFORE_QUERY = r"(?=(?:--[^\n]*\n\s*|/\*.*?\*/\s*)*(?:\(|select\b|with\b|values\b|from\b))"
_CREATE = re.compile(
    r"create\s+(?P<replace>or\s+replace\s+)?(?P<temporary>temp(?:orary)?\s+)?(?P<kind>table|view)"
    rf"\s+(?P<spared>if\s+not\s+exists\s+)?{_NAME}(?P<how>\s.*?)?\bas\s*{_BEFORE_QUERY}"
    r"(?P<query>.*)",
    re.I | re.S,
)
_DROP = re.compile(rf"drop\s+(?P<kind>table|view)\s+(?P<spared>if\s+exists\s+)?{_NAME}", re.I)
_SCHEMA = re.compile(
    r"(?P<what>create|drop)\s+(?:schema|database)\s+(?:if\s+(?:not\s+)?exists\s+)?"
    rf"{_NAME}(?:\s+(?:cascade|restrict))?",
    re.I,
)
_RENAME = re.compile(
    rf"alter\s+(?:table|view)\s+{_NAME}\s+rename\s+to\s+{_NAME.replace('<name>', '<new>')}", re.I
)


@frozen
class Create:
    """CREATE TABLE or VIEW ... AS. ``how``: what is said of a table before AS."""

    kind: str
    name: str
    how: str
    query: str
    replace: bool = False
    temporary: bool = False
    spared: bool = False  # IF NOT EXISTS


@frozen
class Drop:
    kind: str
    name: str
    spared: bool = False  # IF EXISTS


@frozen
class Schema:
    what: str
    name: str


@frozen
class Rename:
    name: str
    new: str


Known = Create | Drop | Schema | Rename


def known(text: str) -> Known | None:
    """What the statement ``text`` says; None for one that a session runs by itself."""
    if (found := _CREATE.fullmatch(text)) is not None:
        return Create(
            found["kind"].lower(),
            plain(found["name"]),
            (found["how"] or "").strip(),
            found["query"].strip(),
            bool(found["replace"]),
            bool(found["temporary"]),
            bool(found["spared"]),
        )
    if (found := _DROP.fullmatch(text)) is not None:
        return Drop(found["kind"].lower(), plain(found["name"]), bool(found["spared"]))
    if (found := _SCHEMA.fullmatch(text)) is not None:
        return Schema(found["what"].lower(), plain(found["name"]))
    if (found := _RENAME.fullmatch(text)) is not None:
        return Rename(plain(found["name"]), plain(found["new"]))
    return None


def plain(name: str) -> str:
    """A name without quotes."""
    return name.replace("`", "")


def quoted(name: str) -> str:
    """A name whose parts are quoted."""
    return ".".join(f"`{part}`" for part in name.split("."))


def split(text: str) -> list[str]:
    """The statements of a text, which semicolons part, without comments around them. ConfigError
    for a text that SQL's quotes do not close in."""
    try:
        tokens = sqlglot.tokenize(text, read="spark")
    except sqlglot.errors.SqlglotError as error:
        said = str(error).splitlines()[0].rstrip(".")
        raise ConfigError("statement", f"is no SQL: {said}.", "Close its quotes.") from None
    found, part = [], []
    for token in [*tokens, None]:
        if token is not None and token.token_type != TokenType.SEMICOLON:
            part.append(token)
        elif part:
            found.append(text[part[0].start : part[-1].end + 1])
            part = []
    return found
