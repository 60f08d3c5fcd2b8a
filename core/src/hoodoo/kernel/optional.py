"""Members that objects of a family may lack, and what is answered in their place: data.

Whatever a Protocol of :data:`~hoodoo.kernel.protocols.PROTOCOLS` has is required, unless it stands here. A member that
is added to a family later stands here: with its default, and, where a later number of the family's API needs it,
with that number. So a plugin that was written before works on.
"""

from __future__ import annotations

from typing import Any

from attrs import frozen

from hoodoo.hookspecs.action import FollowsWrites, Recovers, Schedules
from hoodoo.hookspecs.engine import KnowsStorage
from hoodoo.hookspecs.file_format import HasBaseRanges, HasColumnRanges
from hoodoo.hookspecs.index import LearningIndex, StoredIndex, Tees
from hoodoo.hookspecs.key_generator import GeneratesKeys, Settles
from hoodoo.hookspecs.participant import KnowsRanges, ListsFiles, ParticipantServices
from hoodoo.kernel.protocols import PROTOCOLS, members, misses


class _Without:
    def __repr__(self) -> str:
        return "done without"


WITHOUT = _Without()  # of a member without a default: what it is for is not done


@frozen
class Optional:
    """``default`` is what the seam answers for an object that lacks the member: the value of a property; of a
    method a function that gets the object and the arguments of the call. An object that is registered for API
    ``required_from`` of its family, or a later one, must have it (0: none must)."""

    default: Any = WITHOUT
    required_from: int = 0


def _capabilities(*protocols: type) -> dict[str, Optional]:
    """Members of Protocols that an object may have besides the family's own: all of one, or none."""
    return {name: Optional() for protocol in protocols for name in members(protocol)}


OPTIONAL: dict[str, dict[str, Optional]] = {
    "storage": {
        "shared": Optional(True), "plain_files": Optional(False), "sweep": Optional(),
    },
    "engine": _capabilities(KnowsStorage),
    "key_generator": {
        "can_be_virtual": Optional(False), "deletes_only": Optional(False),
        "table_properties": Optional(lambda generator: {}), "deleted_keys": Optional(),
        "delete_block_keys": Optional(), "refuse_ambiguous": Optional(),
        **_capabilities(GeneratesKeys, Settles),
    },
    "merger": {"keeps_absent": Optional(False)},
    "index": {"knows_logs": Optional(False), "undone": Optional(), "rebuild": Optional(), "verify": Optional(), **_capabilities(StoredIndex, LearningIndex, Tees)},
    "file_format": {
        "plain_parquet": Optional(False), **_capabilities(HasColumnRanges, HasBaseRanges),
    },
    "participant": {
        **_capabilities(ParticipantServices, ListsFiles, KnowsRanges), "properties": Optional(()),
    },
    "metadata_partition": {"merge": Optional()},
    "action": _capabilities(Schedules, FollowsWrites, Recovers),
}  # fmt: skip


def missing(family: str, obj: Any, api: int = 1) -> tuple[str, list[str]]:
    """The Protocol of ``family`` that ``obj``, written for its ``api``, comes nearest to, and the members it lacks."""
    optional = OPTIONAL.get(family, {})
    answers = []
    for protocol in PROTOCOLS[family]:
        wanted = {
            name: method
            for name, method in members(protocol).items()
            if name not in optional or 0 < optional[name].required_from <= api
        }
        lacking = misses(obj, wanted, family)
        answers.append((len(lacking), -len(wanted), protocol.__name__, lacking))
    _, _, name, lacking = min(answers)
    return name, lacking
