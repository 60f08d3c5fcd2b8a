"""Date patterns as Hudi's timestamp keys write them: those of Joda-Time's ``DateTimeFormat``.

Source: Joda-Time 2.12, ``DateTimeFormat.parseToken`` and ``parsePatternTo``. Letters that say
different things on different machines are refused: names of zones, eras, and in what is parsed
whatever Joda resolves by the present day or by fields that contradict each other."""

from __future__ import annotations

from attrs import frozen
from hoodoo.errors import ConfigError

# Letter -> most digits that parsing takes; 0 is a name. Years are told apart below.
_DIGITS = {
    "d": 2,
    "D": 3,
    "h": 2,
    "H": 2,
    "k": 2,
    "K": 2,
    "m": 2,
    "s": 2,
    "w": 2,
    "e": 1,
    "E": 0,
    "a": 0,
}
YEARS = "yYx"
_PRINTED = frozenset("yYxMdDHhkKmsSweEaZ")
_PARSED = frozenset("yYMdDHhkKmsSaZ")
_NUMBERS = frozenset("yYxdDhHmsSewkK")
_JODA = frozenset("GCYxweEyDMdaKhHkmsSzZ")
_YEAR_DIGITS = 9


@frozen
class Field:
    """A letter, repeated ``count`` times. ``adjacent``: the next thing in the pattern is a
    number."""

    letter: str
    count: int
    adjacent: bool = False

    @property
    def is_year(self) -> bool:
        return self.letter in YEARS

    @property
    def is_text(self) -> bool:
        """A name rather than digits."""
        return self.letter in "Ea" or (self.letter == "M" and self.count >= 3)

    @property
    def max_digits(self) -> int:
        """Most digits that parsing takes."""
        if self.is_year:
            return self.count if self.adjacent else _YEAR_DIGITS
        if self.letter == "S":
            return self.count
        return 2 if self.letter == "M" else _DIGITS[self.letter]


Token = str | Field


def pattern_tokens(pattern: str, option: str, parsing: bool = False) -> tuple[Token, ...]:
    """The fields and literal texts of ``pattern``, in order.

    ConfigError, naming ``option`` and the letter, for what can't be mapped exactly; ``parsing``:
    the pattern is for reading texts, which fewer letters are for."""
    found: list[Token] = []
    at = 0
    while at < len(pattern):
        start = at
        if _is_letter(pattern[at]):
            while at < len(pattern) and pattern[at] == pattern[start]:
                at += 1
            found.append(_field(pattern, pattern[start], at - start, option, parsing))
            continue
        text, at = _literal(pattern, at)
        if text:
            found.append(text)
    if not any(isinstance(token, Field) for token in found):
        raise ConfigError(
            f"option {option}={pattern!r}",
            "has no letter that stands for a part of a time.",
            "give a pattern like yyyy/MM/dd.",
        )
    return tuple(_with_neighbours(found))


def slashes(tokens: tuple[Token, ...]) -> int:
    """How many ``/`` a text of this pattern has: fields have none."""
    return sum(token.count("/") for token in tokens if isinstance(token, str))


def _is_letter(char: str) -> bool:
    return char.isascii() and char.isalpha()


def _literal(pattern: str, at: int) -> tuple[str, int]:
    """The text that begins at ``at``, and where it ends. ``''`` is a quote, ``'...'`` quotes
    letters."""
    text, quoted = "", False
    while at < len(pattern):
        char = pattern[at]
        if char == "'" and pattern[at + 1 : at + 2] == "'":
            text += char
            at += 1
        elif char == "'":
            quoted = not quoted
        elif not quoted and _is_letter(char):
            break
        else:
            text += char
        at += 1
    return text, at


def _field(pattern: str, letter: str, count: int, option: str, parsing: bool) -> Field:
    def refuse(why: str) -> ConfigError:
        return ConfigError(
            f"option {option}={pattern!r}",
            f"its letter {letter * count!r} {why}.",
            "use other letters, or partition by columns that hold the wanted text.",
        )

    if letter not in _JODA:
        raise refuse("is not one of the letters of Joda-Time, which Hudi uses")
    if letter in "GCz" or (letter == "Z" and count > 2):
        raise refuse("stands for a name or number that is not mapped")
    if not parsing:
        return Field(letter, count)
    if letter not in _PARSED:
        raise refuse("says what other letters say better, and is not mapped where texts are read")
    if letter in YEARS and count == 2:
        raise refuse("stands for a century that depends on the present year where texts are read")
    return Field(letter, count)


def _with_neighbours(tokens: list[Token]) -> list[Token]:
    made: list[Token] = []
    for token, after in zip(tokens, [*tokens[1:], ""], strict=True):
        if isinstance(token, Field) and isinstance(after, Field):
            number = after.letter in _NUMBERS or (after.letter == "M" and after.count <= 2)
            token = Field(token.letter, token.count, number)
        made.append(token)
    return made
