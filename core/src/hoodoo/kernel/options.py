"""Judge the options a user gives: honoured, known without effect, unknown, or contradicting."""

from __future__ import annotations

import difflib
import warnings
from collections.abc import Iterable, Mapping
from functools import lru_cache
from importlib import resources

from hoodoo.errors import ConfigError, HoodooWarning, OptionConflictError, UnknownOptionError
from hoodoo.hookspecs import FAMILIES, Option
from hoodoo.kernel.registry import Kernel, kernel
from hoodoo.kernel.resolve import declared_options
from hoodoo.model.config import TableConfig
from hoodoo.model.writer_keys import WRITER_KEYS


@lru_cache(maxsize=1)
def known_to_hudi() -> frozenset[str]:
    """Every option key of Hudi, honoured here or not (``model/known_options.txt``, one a line)."""
    text = resources.files("hoodoo.model").joinpath("known_options.txt").read_text("utf-8")
    lines = (line.partition("#")[0].strip() for line in text.splitlines())
    return frozenset(line for line in lines if line)


def check(
    given: Mapping[str, object] | None,
    table: TableConfig | None = None,
    also: Iterable[Option] = (),
    *,
    writer_keys: Mapping[str, tuple[str, ...]] = WRITER_KEYS,
    using: Kernel | None = None,
    stacklevel: int = 1,
) -> dict[str, str]:
    """The options ``given`` as text, if they may stand.

    ``table``: the properties of an existing table; None or none when one is being created. ``also``:
    honoured options beside those that core and the plugins declare. ``writer_keys``: writer option ->
    table properties that mean the same, the first that is there counts; these keys are honoured.

    A property repeated with an equal value is fine. Raises
    :class:`~hoodoo.errors.UnknownOptionError` for a key that neither Hudi nor a plugin knows,
    :class:`~hoodoo.errors.OptionConflictError` for a value that contradicts the table, and
    :class:`~hoodoo.errors.ConfigError` for a value that is not text, number or boolean. Keys that Hudi
    knows but that change nothing here give one :class:`~hoodoo.errors.HoodooWarning` together, at the
    caller ``stacklevel`` frames up.
    """
    registry = kernel() if using is None else using
    declared = {option.key: option for option in (*declared_options(using=registry), *also)}
    options = {key: _text(key, value) for key, value in (given or {}).items()}
    idle: list[str] = []
    unknown: list[str] = []
    for key, value in sorted(options.items()):
        for prop in (key, *writer_keys.get(key, ())):
            stored = _stored(table, prop, declared)
            if stored is not None:
                if not _equal(stored[0], value, prop, registry):
                    raise _conflict(key, value, prop, *stored)
                break
        if key in declared or key in writer_keys or (table is not None and key in table.properties):
            continue
        (idle if key in known_to_hudi() else unknown).append(key)
    if unknown:
        raise _unknown(unknown, known_to_hudi() | declared.keys() | writer_keys.keys())
    if idle:
        warnings.warn(
            f"options {', '.join(idle)}: Hudi knows them, but they have no effect in Hoodoo. "
            "Fix: leave them out.",
            HoodooWarning,
            stacklevel=stacklevel + 1,
        )
    return options


def _text(key: object, value: object) -> str:
    if isinstance(key, str) and isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(key, str) and isinstance(value, (str, int, float)):
        return str(value)
    raise ConfigError(
        f"option {key!r}",
        f"its value is {value!r}; options are text, numbers or booleans under text keys.",
        "Leave the option out to get its default.",
    )


def _stored(
    table: TableConfig | None, prop: str, declared: Mapping[str, Option]
) -> tuple[str, str] | None:
    """What an existing table says about ``prop``, and how it says it."""
    if table is None or not table.properties:
        return None
    found = table.get(prop)
    if found is not None:
        return found, "the table's property"
    # A table that does not say has the default: bytes on disk were decided by it.
    option = declared.get(prop)
    if option is None or not option.table_property or not option.assumed:
        return None
    if option.default is not None:
        return option.default, "not set in the table, which has the default"
    return None


def _equal(one: str, other: str, prop: str, registry: Kernel) -> bool:
    def plain(value: str) -> list[str]:
        parts = [part.strip() for part in value.split(",")]
        return [p.lower() if p.lower() in ("true", "false") else p for p in parts]

    if plain(one) == plain(other):
        return True
    if prop.endswith(".fields") and (":" in one) != (":" in other):
        # "city:SIMPLE" and "city": Hudi's custom key generator says more about the same column.
        return [p.partition(":")[0] for p in plain(one)] == [
            p.partition(":")[0] for p in plain(other)
        ]
    # A name and its Java class alias mean the same plugin. Not for columns, which have a case.
    return prop.endswith((".class", ".type", ".mode", ".format", ".id")) and any(
        (offer := registry.find(family, one)) is not None and offer is registry.find(family, other)
        for family in FAMILIES
    )


def _conflict(key: str, value: str, prop: str, stored: str, how: str) -> OptionConflictError:
    return OptionConflictError(
        f"option {key!r}",
        f"the value {value!r} contradicts {prop} = {stored!r} ({how}).",
        "Leave the option out: rows that are already in the table were written with the property.",
    )


def _unknown(keys: list[str], known: Iterable[str]) -> UnknownOptionError:
    candidates = sorted(known)
    hints = [
        f"{key!r}: did you mean {' or '.join(map(repr, near))}?"
        for key in keys
        if (near := difflib.get_close_matches(key, candidates, n=3, cutoff=0.75))
    ]
    return UnknownOptionError(
        f"option{'s' if len(keys) > 1 else ''} {', '.join(map(repr, keys))}",
        "neither Hudi nor an installed plugin knows of it.",
        " ".join(hints) or "See `hoodoo plugins` for what is installed.",
    )
