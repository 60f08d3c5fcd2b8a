"""The settings of virtual keys: those that RFC-21 names, in terms of the properties that shipped.

``hoodie.populate.meta.fields=false`` is what Hudi's readers and writers go by. What it can't say is
kept beside it: that the RFC's rule for nulls holds, the concatenator, and which meta columns are
stored all the same.
"""

from __future__ import annotations

from collections.abc import Mapping

from attrs import frozen

from hoodoo.errors import ConfigError, OptionConflictError
from hoodoo.model.config import KEPT_META, POPULATE, VIRTUAL, TableConfig
from hoodoo.model.meta import COMMIT_TIME, META_COLUMNS

COLUMNS = "hoodie.recordkey.virtual.columns"
CONCATENATOR = "hoodie.recordkey.virtual.concatenator"
CLASS = "hoodie.recordkey.virtual.class"
# The key generator that joins values by a concatenator.
CONCATENATED = "CONCATENATED"


@frozen
class VirtualSettings:
    """What a user says about virtual keys. ``columns``, ``concatenator`` and ``generator`` are None
    where nothing is said; ``strict``: a null in a key column is an error; ``kept``: the meta columns
    that files store all the same."""

    columns: tuple[str, ...] | None = None
    concatenator: str | None = None
    generator: str | None = None
    strict: bool = True
    kept: tuple[str, ...] = (COMMIT_TIME,)

    @classmethod
    def of(cls, options: Mapping[str, str]) -> VirtualSettings | None:
        """None where the keys are to be stored. Raises ConfigError for settings without a use, or a
        meta column that does not exist; OptionConflictError for two that contradict each other."""
        enabled = _flag(options, VIRTUAL)
        populated = _flag(options, POPULATE)
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
                        f"option {key}", "is of virtual keys, and the keys of this table are stored.",
                        f"add {VIRTUAL}=true, or leave it out.",
                    )  # fmt: skip
            return None
        names = _names(options.get(COLUMNS))
        concatenator = options.get(CONCATENATOR)
        if concatenator == "":
            raise ConfigError(
                f"option {CONCATENATOR}",
                "is empty: two rows could have the same key.",
                "give a text.",
            )
        return cls(
            names or None,
            concatenator,
            options.get(CLASS),
            bool(enabled),
            kept_columns(options.get(KEPT_META), (COMMIT_TIME,) if enabled else ()),
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


def kept_columns(text: str | None, default: tuple[str, ...] = ()) -> tuple[str, ...]:
    """The meta columns that ``text`` names. ConfigError for any other."""
    if text is None:
        return default
    for name in (names := _names(text)):
        if name not in META_COLUMNS:
            raise ConfigError(
                f"option {KEPT_META}={text}", f"{name} is none of {', '.join(META_COLUMNS)}.",
                "name those that files shall store, or none.",
            )  # fmt: skip
    return names


def is_strict(config: TableConfig) -> bool:
    """Whether a null in a key column is an error, as RFC-21 has it."""
    return not config.populate_meta_fields and config.get(VIRTUAL) == "true"


def _flag(options: Mapping[str, str], key: str) -> bool | None:
    text = options.get(key)
    if text is None:
        return None
    if text.strip().lower() not in ("true", "false"):
        raise ConfigError(f"option {key}", f"must be true or false, not {text!r}.", "Correct it.")
    return text.strip().lower() == "true"


def _names(text: str | None) -> tuple[str, ...]:
    return tuple(part.strip() for part in (text or "").split(",") if part.strip())
