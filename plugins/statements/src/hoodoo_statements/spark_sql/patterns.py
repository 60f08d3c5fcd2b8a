"""Patterns: regular expressions that Java and RE2, which DuckDB has, read the same; formats of
dates."""

from __future__ import annotations

import re

# A character that Java's "." does not match, and that may be the last before "$".
ENDS = r"\n\r\x{85}\x{2028}\x{2029}"
_PLAIN_ESCAPES = frozenset(r"\.[]{}()*+?^$|/-\"'#&%@!,;:=<>~_` ")
_CLASSES = frozenset("dDwW")
_SPACES = r"\t\n\x{0b}\f\r "  # Java's \s has the vertical tab, RE2's has not


def re2(pattern: str) -> str | None:
    """``pattern`` for RE2; None where Java may see something else in it."""
    made: list[str] = []
    i = 0
    while i < len(pattern):
        c = pattern[i]
        if c == "\\":
            escaped = pattern[i + 1 : i + 2]
            if escaped in _CLASSES and escaped:
                made.append("\\" + escaped)
            elif escaped == "s":
                made.append(f"[{_SPACES}]")
            elif escaped in ("t", "n", "r"):
                made.append("\\" + escaped)
            elif escaped and escaped in _PLAIN_ESCAPES:
                made.append(re.escape(escaped))
            else:
                return None
            i += 2
            continue
        if c == "[":
            found = _set(pattern, i)
            if found is None:
                return None
            text, i = found
            made.append(text)
            continue
        if c == "(":
            if pattern[i + 1 : i + 2] == "?" and pattern[i + 1 : i + 3] != "?:":
                return None
        elif c in "*+?}":
            if pattern[i + 1 : i + 2] == "+" or i == 0:
                return None  # possessive, or of nothing
        elif c == "{" and not re.match(r"\{[0-9]{1,3}(,[0-9]{0,3})?\}", pattern[i:]):
            return None
        made.append(f"[^{ENDS}]" if c == "." else c)
        i += 1
    try:
        re.compile(pattern)
    except (re.error, RecursionError, OverflowError):
        return None
    return "".join(made)


def _set(pattern: str, at: int) -> tuple[str, int] | None:
    i = at + 1
    made = ["["]
    if pattern[i : i + 1] == "^":
        made.append("^")
        i += 1
    first = i
    while i < len(pattern):
        c = pattern[i]
        if c == "]":
            return ("".join([*made, "]"]), i + 1) if i > first else None
        if c == "[" or pattern[i : i + 2] == "&&" or c == "^":
            return None
        if c == "\\":
            escaped = pattern[i + 1 : i + 2]
            if escaped == "s":
                made.append(_SPACES)
            elif escaped and (escaped in "dwtnr" or escaped in _PLAIN_ESCAPES):
                made.append("\\" + escaped)
            else:
                return None
            i += 2
            continue
        made.append(c)
        i += 1
    return None


def replacement(text: str, groups: int) -> str | None:
    r"""Java's ``$1`` as RE2's ``\\1``; None where Java would refuse it, or may see another
    group."""
    made: list[str] = []
    i = 0
    while i < len(text):
        c, after = text[i], text[i + 1 : i + 2]
        if c == "\\":
            if not after:
                return None
            made.append("\\\\" if after == "\\" else after)
            i += 2
        elif c == "$":
            if not after.isdigit() or not after.isascii() or int(after) > groups:
                return None
            if text[i + 2 : i + 3].isdigit():
                return None
            made.append("\\" + after)
            i += 2
        else:
            made.append(c)
            i += 1
    return "".join(made)


def groups_of(pattern: str) -> int:
    return re.compile(pattern).groups


def matches_nothing(pattern: str) -> bool:
    """Whether an empty part of a text may match, of which Java and RE2 count differently many."""
    return re.compile(pattern).match("") is not None


_FORMATS = {
    "yyyy": "%Y",
    "MM": "%m",
    "dd": "%d",
    "HH": "%H",
    "mm": "%M",
    "ss": "%S",
    "SSS": "%g",
    "SSSSSS": "%f",
    "DDD": "%j",
    "hh": "%I",
    "a": "%p",
    "EEE": "%a",
    "E": "%a",
    "EEEE": "%A",
    "MMM": "%b",
    "MMMM": "%B",
    "yy": "%y",
    "d": "%-d",
    "M": "%-m",
    "H": "%-H",
    "m": "%-M",
    "s": "%-S",
}


def date_format(pattern: str) -> str | None:
    """Spark's format of a date as strftime's; None for letters that are not known here."""
    made = []
    for part in re.finditer(r"'([^']*)'|([A-Za-z])\2*|.", pattern, re.DOTALL):
        text = part.group()
        if part.group(1) is not None:
            made.append((part.group(1) or "'").replace("%", "%%"))
        elif part.group(2):
            if text not in _FORMATS:
                return None
            made.append(_FORMATS[text])
        elif text in "'[]{}#":
            return None
        else:
            made.append(text.replace("%", "%%"))
    return "".join(made)
