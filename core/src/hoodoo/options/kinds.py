"""The types of options: from the text of a value to what it means, and back to its plain
spelling."""

from __future__ import annotations

import difflib
import math
import re
from typing import Generic, TypeVar

from attrs import field, frozen

T = TypeVar("T")
_TRUE, _FALSE = ("true", "1", "yes", "on"), ("false", "0", "no", "off")
_KIB = 1024
# Binary multiples, as in Hudi's and Spark's own settings: 128MB is 134217728 bytes.
_SIZES = {"b": 1, "k": _KIB, "m": _KIB**2, "g": _KIB**3, "t": _KIB**4}
_SIZE_WORDS = {"b": "bytes", "k": "KiB", "m": "MiB", "g": "GiB"}
_SIZE_NAMES = {
    **dict.fromkeys(("b", "byte", "bytes"), "b"),
    **{f"{unit}{end}": unit for unit in "kmgt" for end in ("", "b", "ib")},
}
_TIMES = {"ms": 0.001, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
_TIME_NAMES = {
    **dict.fromkeys(("ms", "millisecond", "milliseconds"), "ms"),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), "s"),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes"), "min"),
    **dict.fromkeys(("h", "hour", "hours"), "h"),
    **dict.fromkeys(("d", "day", "days"), "d"),
}
_LONG = {"ms": "milliseconds", "s": "seconds", "min": "minutes", "h": "hours", "d": "days"}
_MEASURE = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*([a-z]*)", re.I | re.A)


class BadValueError(ValueError):
    """``rule``: what a value has to be; ``nearest``: the right one that is nearest, or the
    choices."""

    def __init__(self, rule: str, nearest: str = "") -> None:
        self.rule, self.nearest = rule, nearest
        super().__init__(rule)


class Kind(Generic[T]):
    """A type of options. ``name`` is what the page of options calls it."""

    name = "text"

    def parse(self, text: str) -> T:
        """What ``text`` means. Raises :class:`BadValueError`."""
        raise NotImplementedError

    def spell(self, value: T) -> str:
        """The plain spelling of ``value``: what plugins get, and what tables store."""
        return str(value)

    def stored(self, text: str) -> T:
        """What ``text`` means as a table's property: as Hudi reads it there."""
        return self.parse(text)

    @property
    def bounds(self) -> str:
        """Which values are right, in words; empty where all of the type are."""
        return ""


@frozen
class Text(Kind[str]):
    """Any text, as it is. ``empty``: it may have no letters."""

    empty: bool = True
    name = "text"

    def parse(self, text: str) -> str:
        """Return ``text``. Raises BadValueError if it is empty and must not be."""
        if not text and not self.empty:
            raise BadValueError("must be a text that is not empty")
        return text

    @property
    def bounds(self) -> str:
        """``not empty``, or no words."""
        return "" if self.empty else "not empty"


@frozen
class Flag(Kind[bool]):
    """true, 1, yes, on; false, 0, no, off; in any case."""

    name = "flag"

    def parse(self, text: str) -> bool:
        """Return the flag that ``text`` spells: ``true``, ``1``, ``yes``, ``on`` and their
        opposites. Raises BadValueError."""
        word = text.strip().lower()
        if word in _TRUE:
            return True
        if word in _FALSE:
            return False
        near = difflib.get_close_matches(word, (*_TRUE, *_FALSE), 1, 0.5)
        raise BadValueError("must be true or false", near[0] if near else "true' or 'false")

    def spell(self, value: bool) -> str:
        """Return ``true`` or ``false``."""
        return "true" if value else "false"

    def stored(self, text: str) -> bool:
        """Return True for ``true`` alone, in any case, as Hudi reads table properties."""
        # Java's Boolean.parseBoolean, by which Hudi reads its table properties: `1` is false there.
        return text.strip().lower() == "true"


@frozen
class Whole(Kind[int]):
    """A whole number from ``least`` to ``most``, both included."""

    least: int | None = None
    most: int | None = None
    name = "whole number"

    def parse(self, text: str) -> int:
        """Return the whole number; ``3.0`` is one. Raises BadValueError for others and outside of
        the bounds."""
        if not re.fullmatch(r"[+-]?\d+(\.0*)?", text.strip(), re.ASCII):
            found = re.search(r"-?\d+", text, re.ASCII)
            raise BadValueError(_rule("a whole number", self.bounds), self._near(found))
        value = int(text.strip().partition(".")[0])
        _within(value, self.least, self.most, _rule("a whole number", self.bounds), str)
        return value

    def _near(self, found: re.Match[str] | None) -> str:
        return "" if found is None else str(_clamped(int(found[0]), self.least, self.most))

    @property
    def bounds(self) -> str:
        """The range in words, such as ``at least 1``."""
        return _range(self.least, self.most, str)


@frozen
class Number(Kind[float]):
    """A number from ``least`` to ``most``; ``above`` and ``below`` are excluded themselves."""

    least: float | None = None
    most: float | None = None
    above: float | None = None
    below: float | None = None
    name = "number"

    def parse(self, text: str) -> float:
        """Return the finite number. Raises BadValueError for other texts and beyond the bounds."""
        rule = _rule("a number", self.bounds)
        try:
            value = float(text)
        except ValueError:
            raise BadValueError(rule) from None
        if not math.isfinite(value) or "_" in text:
            raise BadValueError(rule)
        _within(value, self.least, self.most, rule, _plain)
        if self.above is not None and value <= self.above:
            raise BadValueError(rule)
        if self.below is not None and value >= self.below:
            raise BadValueError(rule)
        return value

    def spell(self, value: float) -> str:
        """Return the number without needless digits: ``2``, not ``2.0``."""
        return _plain(value)

    @property
    def bounds(self) -> str:
        """The range in words, such as ``at least 0 and below 1``."""
        words = [_range(self.least, self.most, _plain)]
        words += [] if self.above is None else [f"above {_plain(self.above)}"]
        words += [] if self.below is None else [f"below {_plain(self.below)}"]
        return " and ".join(word for word in words if word)


@frozen
class Size(Kind[int]):
    """Bytes, or what ``unit`` says (``m``: MiB): a number, or one with a unit such as 128MB or 1.5
    GiB. Units are multiples of 1024, in any case. The value is in ``unit``, and whole."""

    least: int | None = 0
    most: int | None = None
    unit: str = field(default="b", kw_only=True)
    name = "bytes"

    def parse(self, text: str) -> int:
        """Return the size in :attr:`unit`; ``128MB`` in bytes is 134217728. BadValueError."""
        rule = _rule(f"a number of {_SIZE_WORDS[self.unit]}, such as 128MB", self.bounds)
        found = _MEASURE.fullmatch(text.strip())
        letters = "" if found is None else found[2].lower()
        unit = _SIZE_NAMES.get(letters) if letters else self.unit
        if found is None or unit is None:
            digits = re.search(r"\d+", text, re.ASCII)
            raise BadValueError(rule, "" if digits is None else f"{digits[0]}MB")
        value = float(found[1]) * _SIZES[unit] / _SIZES[self.unit]
        if not math.isfinite(value) or (unit == "b" == self.unit and value != int(value)):
            raise BadValueError(rule)
        # Past 2**53 a float has no room for every whole number: texts without a unit are taken as
        # they are.
        exact = unit == self.unit and re.fullmatch(r"[+-]?\d+", found[1])
        whole = int(found[1]) if exact else int(value)
        _within(whole, self.least, self.most, rule, str)
        return whole

    @property
    def bounds(self) -> str:
        """The range in words, in :attr:`unit`."""
        return _range(self.least, self.most, str)


@frozen
class Duration(Kind[float]):
    """A time: a number of ``unit`` (ms, s, min, h, d), or one with a unit such as 30s. Its value is
    in ``unit``."""

    unit: str
    least: float = 0
    whole: bool = True
    name = "duration"

    def parse(self, text: str) -> float:
        """Return the time in :attr:`unit`: ``5min`` in seconds is 300. Raises BadValueError."""
        rule = _rule(
            f"a number of {_LONG[self.unit]}, or one with a unit such as 5min", self.bounds
        )
        found = _MEASURE.fullmatch(text.strip())
        unit = None if found is None else _TIME_NAMES.get(found[2].lower() or self.unit)
        if found is None or unit is None:
            digits = re.search(r"\d+", text, re.ASCII)
            raise BadValueError(rule, "" if digits is None else digits[0])
        value = float(found[1])
        if unit != self.unit:
            value = round(value * _TIMES[unit] / _TIMES[self.unit], 9)
        if not math.isfinite(value):
            raise BadValueError(rule)
        _within(value, self.least, None, rule, _plain)
        if self.whole and value != int(value):
            raise BadValueError(rule, _plain(math.ceil(value)))
        return value

    def spell(self, value: float) -> str:
        """Return the number in :attr:`unit`, without needless digits."""
        return _plain(value)

    @property
    def bounds(self) -> str:
        """The range in words, in :attr:`unit`, and whether it must be whole."""
        words = ["whole"] if self.whole else []
        return " and ".join([*words, _range(self.least, None, _plain)])


class Choice(Kind[str]):
    """One of ``values``, in any case; the value is spelt as it is there. ``other``: spellings of
    other writers -> spelling of Hoodoo."""

    name = "choice"

    def __init__(self, *values: str, **other: str) -> None:
        self.values, self.other = values, other

    def parse(self, text: str) -> str:
        """Return the value that ``text`` names in any case, or by another name. Raises
        BadValueError."""
        known = {value.lower(): value for value in self.values}
        known |= {name.lower(): value for name, value in self.other.items()}
        word = text.strip().lower()
        if word in known:
            return known[word]
        near = difflib.get_close_matches(word, list(known), 1, 0.5)
        raise BadValueError(f"must be one of {self.bounds}", known[near[0]] if near else "")

    @property
    def bounds(self) -> str:
        """The values, separated by commas."""
        return ", ".join(self.values)


@frozen
class PluginName(Kind[str]):
    """The name of a plugin of ``family``, or another name or Java class that it has. Whether it is
    installed is judged by the kernel."""

    family: str
    name = "plugin"

    def parse(self, text: str) -> str:
        """Return ``text`` without blanks around it. Whether the plugin exists shows when it is
        loaded. Raises BadValueError if it is empty."""
        if not text.strip():
            raise BadValueError(f"must name a plugin of the family {self.family}")
        return text.strip()

    @property
    def bounds(self) -> str:
        """The family that the plugin must be of, in words."""
        article = "an" if self.family[0] in "aeiou" else "a"
        return f"{article} {self.family.replace('_', ' ')}, by its name or Java class"


@frozen
class Names(Kind[tuple[str, ...]]):
    """Texts separated by commas, each once. ``least``: how many at least; ``of``: only these, in
    any case."""

    name: str = "list"
    least: int = 0
    of: tuple[str, ...] = ()

    def parse(self, text: str) -> tuple[str, ...]:
        """Return the names between commas, each once, in order. Raises BadValueError if there are
        too few, or one is not allowed."""
        parts = (part.strip() for part in text.split(","))
        names = tuple(dict.fromkeys(part for part in parts if part))
        if len(names) < self.least:
            raise BadValueError(f"must name at least {self.least}, separated by commas")
        if not self.of:
            return names
        choice = Choice(*self.of)
        try:
            return tuple(dict.fromkeys(choice.parse(name) for name in names))
        except BadValueError as error:
            raise BadValueError(f"must be of {', '.join(self.of)}", error.nearest) from None

    def spell(self, value: tuple[str, ...]) -> str:
        """Return the names separated by commas, without blanks."""
        return ",".join(value)

    @property
    def bounds(self) -> str:
        """Which names are allowed and how many there must be, in words."""
        words = [f"of {', '.join(self.of)}"] if self.of else []
        return ", ".join([*words, *([f"at least {self.least}"] if self.least else [])])


@frozen
class Pattern(Kind[re.Pattern[str]]):
    """A regular expression, as Python's ``re`` has them."""

    name = "regular expression"

    def parse(self, text: str) -> re.Pattern[str]:
        """Return the compiled regular expression. Raises BadValueError if it does not compile."""
        try:
            return re.compile(text)
        except (re.error, RecursionError, OverflowError) as error:
            raise BadValueError(f"must be a regular expression ({error})") from error

    def spell(self, value: re.Pattern[str]) -> str:
        """Return the text of the expression."""
        return value.pattern


TEXT = Text()
FLAG = Flag()
NAMES = Names()
COLUMNS = Names("columns")


def _rule(what: str, bounds: str) -> str:
    return f"must be {what}" + (f", {bounds}" if bounds else "")


def _plain(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(value)


def _range(least: float | None, most: float | None, spell: object) -> str:
    text = spell if callable(spell) else str
    if least is not None and most is not None:
        return f"from {text(least)} to {text(most)}"
    if least is not None:
        return f"at least {text(least)}"
    return "" if most is None else f"at most {text(most)}"


def _clamped(value: int, least: int | None, most: int | None) -> int:
    low = value if least is None else max(value, least)
    return low if most is None else min(low, most)


def _within(
    value: float, least: float | None, most: float | None, rule: str, spell: object
) -> None:
    text = spell if callable(spell) else str
    if least is not None and value < least:
        raise BadValueError(rule, text(least))
    if most is not None and value > most:
        raise BadValueError(rule, text(most))
