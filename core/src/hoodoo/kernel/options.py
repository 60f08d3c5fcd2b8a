"""Judge the options a user gives: honoured, known without effect, unknown, or contradicting."""

from __future__ import annotations

import difflib
import warnings
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import lru_cache, partial

from hoodoo.calls import noted
from hoodoo.errors import ConfigError, HoodooWarning, OptionConflictError, UnknownOptionError
from hoodoo.hookspecs import MEMBERS, Option, install
from hoodoo.kernel.deprecations import old_names, warn_of_old
from hoodoo.kernel.registry import Kernel, kernel
from hoodoo.kernel.resolve import declared_options
from hoodoo.model.config import TableConfig
from hoodoo.model.writer_keys import WRITER_KEYS
from hoodoo.options.judge import as_text, judged
from hoodoo.options.kinds import BadValueError, PluginName

# The options that Hudi knows, and why one has no effect.
_known = partial(noted, "known_options.txt")


@lru_cache(maxsize=1)
def known_to_hudi() -> frozenset[str]:
    """Every option key of Hudi, honoured here or not."""
    return frozenset(_known())


def check(
    given: Mapping[str, object] | None,
    table: TableConfig | None = None,
    also: Iterable[Option] = (),
    *,
    writer_keys: Mapping[str, tuple[str, ...]] = WRITER_KEYS,
    using: Kernel | None = None,
    stacklevel: int = 1,
) -> dict[str, str]:
    """The options ``given``, if they may stand: under their newest names, in their plain spelling.

    ``table``: the properties of an existing table; None or none when one is being created.
    ``also``: honoured options beside those that core and the plugins declare. ``writer_keys``:
    writer option -> table properties that mean the same, the first that is there counts; these keys
    are honoured.

    A property repeated with an equal value is fine. Raises
    :class:`~hoodoo.errors.UnknownOptionError` for a key that neither Hudi nor a plugin knows,
    :class:`~hoodoo.errors.OptionConflictError` for a value that contradicts the table or that of
    another name of the option, and :class:`~hoodoo.errors.ConfigError` for a value that is not of
    the option's type, is out of its bounds, or names no installed plugin. Keys that Hudi knows but
    that change nothing here give one :class:`~hoodoo.errors.HoodooWarning` together, at the caller
    ``stacklevel`` frames up.
    """
    texts = as_text(given)
    if not texts:
        return {}
    registry = kernel() if using is None else using
    declared = {option.key: option for option in (*declared_options(using=registry), *also)}
    names = {name for option in declared.values() for name in option.names}
    for old, entry in old_names("option").items():
        if old in texts:
            warn_of_old(entry, "this call")
    idle: list[str] = []
    unknown: list[str] = []
    for key in sorted(texts):
        if key in names or key in writer_keys or (table is not None and key in table.properties):
            continue
        (idle if key in known_to_hudi() else unknown).append(key)
    if unknown:
        raise _unknown(unknown, known_to_hudi() | names | writer_keys.keys())
    options = typed(texts, declared.values(), registry)
    for key, value in sorted(options.items()):
        option = declared.get(key)
        names_of = (key,) if option is None else option.names
        found = _stored(table, (*names_of, *writer_keys.get(key, ())), declared)
        if found is not None and not _equal(found[1], value, found[0], option, registry):
            raise _conflict(key, value, *found)
    if idle:
        why = "; ".join(f"{key}: {_known()[key]}" for key in idle if _known()[key])
        warnings.warn(
            f"options {', '.join(idle)}: Hudi knows them, but they have no effect in Hoodoo"
            f"{f' ({why})' if why else ''}. Fix: leave them out.",
            HoodooWarning,
            stacklevel=stacklevel + 1,
        )
    return options


def typed(
    given: Mapping[str, str], declared: Iterable[Option], using: Kernel | None = None
) -> dict[str, str]:
    """The options under their newest names and in their plain spelling. ConfigError,
    OptionConflictError as :func:`check` has them; what nobody declares is left as it is."""
    registry = kernel() if using is None else using
    known = tuple(declared)
    options = judged(given, known)
    for option in known:
        if isinstance(option.kind, PluginName):
            for name in option.names:
                if name in given:
                    _check_plugin(name, option.kind.family, given[name].strip(), registry)
    return options


def _check_plugin(key: str, family: str, name: str, registry: Kernel) -> None:
    if registry.find(family, name) is not None:
        return
    near = registry.nearest(family, name)
    names = ", ".join(sorted(offer.name for offer in registry.offers(family)))
    brings = MEMBERS.get((family, name.rpartition(".")[2]))
    raise ConfigError(
        f"option {key}",
        f"must name an installed plugin of the family {family}, not {name!r}.",
        (f"Did you mean {' or '.join(map(repr, near))}? " if near else "")
        + f"Names: {names or 'none'}; or install the distribution that offers it"
        + (f" ({install([brings])})." if brings else "."),
    )


def _stored(
    table: TableConfig | None, names: Iterable[str], declared: Mapping[str, Option]
) -> tuple[str, str, str] | None:
    """What an existing table says under the first of ``names`` that it has: name, text, and how."""
    if table is None or not table.properties:
        return None
    for name in names:
        found = table.get(name)
        if found is not None:
            return name, found, "the table's property"
    # A table that does not say has the default: bytes on disk were decided by it.
    for name in names:
        option = declared.get(name)
        if option is None or not option.table_property or not option.assumed:
            continue
        if option.default is not None:
            return name, option.default, "not set in the table, which has the default"
    return None


def _equal(one: str, other: str, prop: str, option: Option | None, registry: Kernel) -> bool:
    """Whether the stored value ``one`` of ``prop`` is the given ``other`` of ``option``."""
    if option is not None and option.key == prop:
        with suppress(BadValueError):
            if option.spell(option.kind.stored(one)) == other:
                return True

    def plain(value: str) -> list[str]:
        cased = ("true", "false", "copy_on_write", "merge_on_read")  # in any case
        return [p.lower() if p.lower() in cased else p for p in map(str.strip, value.split(","))]

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
        for family in registry.families
    )


def _conflict(key: str, value: str, prop: str, stored: str, how: str) -> OptionConflictError:
    return OptionConflictError(
        f"option {key!r}",
        f"the value {value!r} contradicts {prop} = {stored!r} ({how}).",
        "Leave the option out: the rows in the table were written with this property.",
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
        "neither Hudi nor an installed plugin knows this option.",
        " ".join(hints) or "See `hoodoo plugins` for what is installed.",
    )
