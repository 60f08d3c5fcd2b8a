"""Values of partition columns, from partition paths, as the extractor classes of Hudi's sync tools
make them."""

from __future__ import annotations

from urllib.parse import unquote

from hoodoo.errors import ConfigError

from hoodoo_catalogs import options
from hoodoo_catalogs.hookspecs.catalog import Values

# Extractor classes by the last part of their names -> what they do.
_WHOLE = ("SinglePartPartitionValueExtractor",)
_PARTS = ("MultiPartKeysValueExtractor",)
_HIVE_STYLE = ("HiveStylePartitionValueExtractor",)
_DAYS = ("SlashEncodedDayPartitionValueExtractor", "SlashEncodedHourPartitionValueExtractor")
_NONE = ("NonPartitionedExtractor",)
_KNOWN = (*_WHOLE, *_PARTS, *_HIVE_STYLE, *_DAYS, *_NONE)


def partition_values(path: str, keys: int, extractor: str | None, decoded: bool) -> Values:
    """The values of ``keys`` partition columns. ``extractor``: a class name of Hudi; None: what
    follows from the number of columns. ConfigError where the path has another number of them."""
    name = (extractor or "").rpartition(".")[2]
    if name and name not in _KNOWN:
        raise ConfigError(
            f"option {options.EXTRACTOR.key}",
            f"names {extractor}, which is not known.",
            f"Name one of {', '.join(_KNOWN)}, or leave it out.",
        )
    parts = (unquote(path) if decoded else path).split("/")
    if name in _NONE:
        return ()
    if name in _DAYS or (not name and keys == 1 and _is_day(parts)):
        day = "-".join(_value(part) for part in parts[:3])
        return (" ".join([day, *map(_value, parts[3:])]),)
    if name in _WHOLE or (not name and keys == 1):
        return (_value("/".join(parts)),)
    if len(parts) != keys:
        raise ConfigError(
            f"partition path {path!r}",
            f"has {len(parts)} parts, but there are {keys} partition columns.",
            f"Set {options.KEYS.key} or {options.EXTRACTOR.key} so that they fit.",
        )
    return tuple(map(_value, parts))


def _value(part: str) -> str:
    key, equals, value = part.partition("=")
    return value if equals and "/" not in key else part


def _is_day(parts: list[str]) -> bool:
    values = [_value(part) for part in parts]
    return [len(value) for value in values] == [4, 2, 2] and all(v.isdigit() for v in values)
