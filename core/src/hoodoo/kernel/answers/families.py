"""Every family, and what its plugins make that answers in their place, as the seam needs it."""

from __future__ import annotations

from functools import cache
from typing import Any

from hoodoo.hookspecs import FAMILIES
from hoodoo.hookspecs.family import WITHOUT, Optional, members
from hoodoo.kernel.answers import (  # their rules
    engines,
    file_formats,  # noqa: F401
    indexes,  # noqa: F401
    keys,  # noqa: F401
    rules,  # noqa: F401
    serializing,  # noqa: F401
)
from hoodoo.kernel.answers.declared import PREPARED, rule_of
from hoodoo.kernel.answers.seam import Checked, Kind, may_travel, wrapped
from hoodoo.kernel.answers.wrong import Who

_BY_HAND = {kind.name: kind for kind in (engines.ENGINE, engines.SIDE, engines.METER)}
# Members that say by a FileNotFoundError that something is not there.
_SAYS_MISSING = {"storage": frozenset({"get", "open"}), "participant": frozenset({"list_files"})}
# A store may be one that this process alone can see; it is no fault until a worker needs it.
_STAYS = frozenset({"storage"})


@cache
def kind_of(name: str) -> Kind:
    """The family, or the part of what plugins make, of this name."""
    if name in _BY_HAND:
        return _BY_HAND[name]
    if name in FAMILIES:
        family = FAMILIES[name]
        protocols, lacking = (*family.protocols, *family.optional), family.may_lack
        return _made(name, protocols, family.travels, lacking, family.declared_at)
    family = next(found for found in FAMILIES.values() if name in found.parts)
    return _made(name, family.parts[name], False, dict(family.parts_lack))


def _made(
    name: str,
    protocols: tuple[type, ...],
    travels: bool,
    lacking: dict[str, Optional],
    at: str = "",
) -> Kind:
    says_missing = _SAYS_MISSING.get(name, frozenset())
    kind = Kind(
        name, says_missing=says_missing, travels=travels, protocols=protocols, declared_at=at
    )
    for protocol in protocols:
        for member, is_method in members(protocol).items():
            ruled = kind.methods if is_method else kind.properties
            ruled[member] = rule_of(protocol, member)
            if (prepare := PREPARED.get(f"{protocol.__name__}.{member}")) is not None:
                kind.prepare[member] = prepare
    given = {n: o.default for n, o in lacking.items() if o.default is not WITHOUT}
    kind.defaults.update((n, given[n]) for n in (*kind.properties, *kind.methods) if n in given)
    return kind


def checked(family: str, obj: Any, who: Who) -> Any:
    """``obj``, a plugin of ``family``, behind the seam. PluginError if workers need it and it can't
    travel."""
    if isinstance(obj, Checked):
        return obj
    kind = kind_of(family)
    if kind.travels and family not in _STAYS:
        may_travel(obj, who)
    return wrapped(kind, obj, who)
