"""Java Properties text, as ``hoodie.properties`` and ``.hoodie_partition_metadata`` hold it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime, timezone
from functools import lru_cache

CHECKSUM = "hoodie.table.checksum"  # the key that goes last

_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
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
    # Java's Date.toString, spelt out: strftime would follow the locale.
    date = (
        f"{_DAYS[moment.weekday()]} {_MONTHS[moment.month - 1]} {moment.day:02d} "
        f"{moment:%H:%M:%S} UTC {moment.year:04d}"
    )
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
    out: list[str] = []
    for position, char in enumerate(text):
        if char == " ":
            out.append("\\ " if is_key or position == 0 else " ")
        elif char in "\t\n\r\f":
            out.append("\\" + {"\t": "t", "\n": "n", "\r": "r", "\f": "f"}[char])
        elif char in "\\=:#!":
            out.append("\\" + char)
        elif " " < char < "\x7f":
            out.append(char)
        else:
            units = char.encode("utf-16-be", "surrogatepass")
            for i in range(0, len(units), 2):
                out.append(f"\\u{units[i]:02X}{units[i + 1]:02X}")
    return "".join(out)
