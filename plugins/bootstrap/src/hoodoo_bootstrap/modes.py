"""What becomes of each partition of the source: Hudi's selectors of modes."""

from __future__ import annotations

import re
from collections.abc import Mapping

from attrs import frozen
from hoodoo.errors import ConfigError, OptionConflictError

from hoodoo_bootstrap.options import (
    FULL_RECORD,
    METADATA_ONLY,
    REGEX,
    REGEX_MODE,
    SELECTOR,
    TRANSLATOR,
)

_SELECTORS = {
    "MetadataOnlyBootstrapModeSelector": METADATA_ONLY,
    "FullRecordBootstrapModeSelector": FULL_RECORD,
    "BootstrapRegexModeSelector": "",
}
_IDENTITY = "IdentityBootstrapPartitionPathTranslator"


@frozen
class Modes:
    """Partition paths that match ``pattern`` as a whole have the ``mode``, all others the other
    mode."""

    mode: str = METADATA_ONLY
    pattern: str = ".*"

    def of(self, path: str) -> str:
        """METADATA_ONLY or FULL_RECORD."""
        if re.fullmatch(self.pattern, path):
            return self.mode
        return FULL_RECORD if self.mode == METADATA_ONLY else METADATA_ONLY

    @classmethod
    def given(cls, mode: str | None, regex: str | None, options: Mapping[str, str]) -> Modes:
        """By the arguments of a call, else by Hudi's options. ConfigError for what is neither mode
        nor selector, OptionConflictError where arguments and options differ."""
        named = cls._of_options(options)
        if mode is None and regex is None:
            return named or cls()
        kind = (mode or METADATA_ONLY).upper()
        if kind not in (METADATA_ONLY, FULL_RECORD):
            raise ConfigError(
                f"mode {mode!r}",
                f"is neither {METADATA_ONLY} nor {FULL_RECORD}.",
                "Give one of them.",
            )
        try:
            re.compile(regex or "")
        except re.error as error:
            raise ConfigError(
                f"regex {regex!r}", f"is no regular expression ({error}).", "Correct it."
            ) from error
        found = cls(kind, ".*" if regex is None else regex)
        if named not in (None, found):
            raise OptionConflictError(
                f"mode {kind} for {found.pattern!r}",
                f"and the options {SELECTOR.key}... differ.",
                "Give one of both.",
            )
        return found

    @classmethod
    def _of_options(cls, options: Mapping[str, str]) -> Modes | None:
        translator = (TRANSLATOR.given(options) or _IDENTITY).rpartition(".")[2]
        if translator != _IDENTITY:
            raise ConfigError(
                f"option {TRANSLATOR.key}={TRANSLATOR.given(options)}",
                "is not the identity: base files would lie in other folders than their source.",
                "Leave it out.",
            )
        if not any(o.is_in(options) for o in (SELECTOR, REGEX, REGEX_MODE)):
            return None
        selector = SELECTOR.read(options).rpartition(".")[2]
        if selector not in _SELECTORS:
            raise ConfigError(
                f"option {SELECTOR.key}",
                f"names {selector!r}, and no class is loaded by its name.",
                f"Give one of {', '.join(_SELECTORS)}.",
            )
        if mode := _SELECTORS[selector]:
            return cls(mode)
        return cls(REGEX_MODE.read(options).upper(), REGEX.read(options).pattern)
