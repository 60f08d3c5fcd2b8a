"""The settings of virtual keys: those that RFC-21 names, in terms of the properties that shipped.

``hoodie.populate.meta.fields=false`` is what Hudi's readers and writers go by. What it can't say is
kept beside it: that the RFC's rule for nulls holds, the concatenator, and which meta columns are
stored all the same.
"""

from __future__ import annotations

from collections.abc import Mapping

from attrs import frozen
from hoodoo.errors import ConfigError, OptionConflictError
from hoodoo.model.config import KEPT_META, POPULATE, VIRTUAL
from hoodoo.model.meta import COMMIT_TIME
from hoodoo.options import virtual as keys

COLUMNS = keys.KEY_COLUMNS.key
CONCATENATOR = keys.CONCATENATOR.key
CLASS = keys.GENERATOR.key
# The key generator that joins values by a concatenator.
CONCATENATED = "CONCATENATED"


@frozen
class VirtualSettings:
    """What a user says about virtual keys. ``columns``, ``concatenator`` and ``generator`` are None
    where nothing is said; ``strict``: a null in a key column is an error; ``kept``: the meta
    columns that files store all the same."""

    columns: tuple[str, ...] | None = None
    concatenator: str | None = None
    generator: str | None = None
    strict: bool = True
    kept: tuple[str, ...] = (COMMIT_TIME,)

    @classmethod
    def of(cls, options: Mapping[str, str]) -> VirtualSettings | None:
        """None where the keys are to be stored. Raises ConfigError for settings without a use, or a
        meta column that does not exist; OptionConflictError for two that contradict each other."""
        enabled = keys.VIRTUAL.given(options)
        populated = keys.POPULATE.given(options)
        if enabled and populated:
            raise OptionConflictError(
                f"option {VIRTUAL}=true", f"contradicts {POPULATE}=true.", "leave the latter out."
            )
        if enabled is False and populated is False:
            raise OptionConflictError(
                f"option {VIRTUAL}=false", f"contradicts {POPULATE}=false.", "say one of them."
            )
        if not enabled and populated is not False:
            for key in (COLUMNS, CONCATENATOR, CLASS, KEPT_META):
                if key in options:
                    raise ConfigError(
                        f"option {key}",
                        "is of virtual keys, and the keys of this table are stored.",
                        f"add {VIRTUAL}=true, or leave it out.",
                    )
            return None
        kept = keys.KEPT_META.given(options)
        return cls(
            keys.KEY_COLUMNS.given(options) or None,
            keys.CONCATENATOR.given(options),
            keys.GENERATOR.given(options),
            bool(enabled),
            ((COMMIT_TIME,) if enabled else ()) if kept is None else kept,
        )

    def properties(self) -> dict[str, str]:
        """What the table notes."""
        told = {POPULATE: "false"}
        if self.kept:
            told[KEPT_META] = ",".join(self.kept)
        if self.strict:
            told[VIRTUAL] = "true"
        if self.concatenator is not None:
            told[CONCATENATOR] = self.concatenator
        return told
