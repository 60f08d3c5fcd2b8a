"""Java Properties text, as ``hoodie.properties`` and ``.hoodie_partition_metadata`` hold it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime, timezone
from functools import lru_cache

CHECKSUM = "hoodie.table.checksum"  # the key that goes last

_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_ESCAPED = {char: f"\\{code}" for code, char in _ESCAPES.items()} | {c: f"\\{c}" for c in "\\=:#!"}
_TO_ESCAPE = re.compile(r"[^ -~]|[\\=:#!]")
_UNESCAPE = re.compile(r"\\(u[0-9A-Fa-f]{4}|.|\Z)", re.DOTALL)
_SURROGATE = re.compile("[\ud800-\udfff]")
_SPLIT = re.compile(r"((?:\\.|[^\\=: \t\f])*)[ \t\f]*[=:]?[ \t\f]*(.*)", re.DOTALL)


def parse(data: bytes) -> dict[str, str]:
    """Keys and values; never fails, because every text is valid to ``java.util.Properties.load``.

    Later keys win. Bytes are ISO-8859-1, as Java reads them; writers escape everything else.
    """
    return dict(_parsed(data))


@lru_cache(maxsize=64)  # a table's properties are read many times, and seldom change
def _parsed(data: bytes) -> Mapping[str, str]:
    found: dict[str, str] = {}
    for line in _logical_lines(data.decode("latin-1")):
        match = _SPLIT.fullmatch(line)
        if match:
            found[_unescape(match[1])] = _unescape(match[2])
    return found


def render(
    values: Mapping[str, str],
    comment: str | None = None,
    now: datetime | None = None,
    *,
    sort: bool = True,
) -> bytes:
    """Text that ``java.util.Properties`` reads back, with the two comment lines that Hudi writes.

    The first comment is ``comment``, or ``Properties saved on`` with the moment; ``now`` is the
    current time unless given. Keys are sorted (``sort=False`` keeps the order given), the checksum
    comes last: a text cut short has no whole checksum.
    """
    moment = (now or datetime.now(timezone.utc)).astimezone(timezone.utc)
    # Java's Date.toString; names of days and months by strftime would follow the locale.
    date = f"{moment.ctime()[:8]}{moment:%d %H:%M:%S} UTC {moment.year:04d}"
    lines = [f"#{comment or f'Properties saved on {iso(moment)}'}", f"#{date}"]
    keys = sorted(values) if sort else list(values)
    for key in [k for k in keys if k != CHECKSUM] + [k for k in keys if k == CHECKSUM]:
        lines.append(f"{_escape(key, is_key=True)}={_escape(values[key], is_key=False)}")
    return ("\n".join(lines) + "\n").encode("ascii")


def iso(now: datetime | None = None) -> str:
    """The moment (or now) as Java's ``Instant.toString`` gives it: UTC, milliseconds."""
    moment = (now or datetime.now(timezone.utc)).astimezone(timezone.utc)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03d}Z"


def _logical_lines(text: str) -> list[str]:
    lines: list[str] = []
    pending = ""
    for raw in re.split(r"\r\n|\n|\r", text):
        line = raw.lstrip(" \t\f")
        if not pending and (not line or line[0] in "#!"):
            continue
        slashes = len(line) - len(line.rstrip("\\"))
        if slashes % 2:
            pending += line[:-1]
            continue
        lines.append(pending + line)
        pending = ""
    if pending:
        lines.append(pending)
    return lines


def _unescape(text: str) -> str:
    if "\\" not in text:
        return text

    def plain(match: re.Match[str]) -> str:
        code = match[1]
        if len(code) == 5:
            return chr(int(code[1:], 16))
        return _ESCAPES.get(code, code)

    found = _UNESCAPE.sub(plain, text)
    if _SURROGATE.search(found):  # Java writes UTF-16 code units
        found = found.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return found


def _escape(text: str, is_key: bool) -> str:
    def escaped(match: re.Match[str]) -> str:
        char, units = match[0], match[0].encode("utf-16-be", "surrogatepass").hex().upper()
        if char in _ESCAPED:
            return _ESCAPED[char]
        return "".join(f"\\u{units[i : i + 4]}" for i in range(0, len(units), 4))

    # Java escapes each blank of a key, and that at the beginning of a value.
    blanks = text if is_key else text[:1]
    return _TO_ESCAPE.sub(escaped, blanks).replace(" ", "\\ ") + _TO_ESCAPE.sub(
        escaped, text[len(blanks) :]
    )
