"""The row that arrived later wins, whatever it says."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from attrs import frozen
from hoodoo.hookspecs.merger import Merged
from hoodoo.hookspecs.registration import Settings

from hoodoo_standard.payloads import Payload, merging_of

STRATEGY_ID = "ce9acb64-bde0-424c-9b91-f6ebba25356d"


@frozen
class CommitTimeMerger:
    """Hudi's COMMIT_TIME_ORDERING. ``delete_mark``: what marks rows as deleted, if something
    does."""

    delete_mark: tuple[str, tuple[str, ...]] | None = None

    @classmethod
    def from_settings(cls, settings: Settings, payload: Payload | None = None) -> CommitTimeMerger:
        return cls(merging_of(settings.table, payload).mark)

    @property
    def merge_mode(self) -> str:
        return "COMMIT_TIME_ORDERING"

    @property
    def strategy_id(self) -> str:
        return STRATEGY_ID

    @property
    def columns(self) -> tuple[str, ...] | None:
        return ()

    def merge(self, older: pa.Table, newer: pa.Table) -> Merged:
        return Merged(newer_wins=pa.array(np.ones(newer.num_rows, np.bool_)))
