"""The action ``erase``: rows go from all files of the table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from attrs import frozen
from hoodoo.errors import ConfigError
from hoodoo.hookspecs.registration import Settings

if TYPE_CHECKING:
    from hoodoo.table.handle import TableHandle

    from hoodoo_erasure.outcome import Erased

_LEAST = 16


@frozen
class Erase:
    """Implements :class:`~hoodoo.hookspecs.action.Action`: done at once; a repeated run goes on
    where one was cut short."""

    @classmethod
    def from_settings(cls, settings: Settings) -> Erase:
        return cls()

    def run(
        self,
        table: TableHandle,
        where: Any = None,
        keys: Any = None,
        look_for: Sequence[str] = (),
        prove: bool | bytes = False,
        drop_savepoints: bool = False,
    ) -> Erased:
        if isinstance(prove, bytes) and len(prove) < _LEAST:
            raise ConfigError(
                "signing key",
                f"has {len(prove)} bytes: shorter ones can be guessed.",
                f"Use at least {_LEAST} random bytes: secrets.token_bytes(32).",
            )
        # Here, as each write makes each action, and seldom runs this one.
        from hoodoo_erasure.erase import Erasure

        return Erasure(table, where, keys, look_for).run(drop_savepoints, prove)
