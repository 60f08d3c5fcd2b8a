"""The row that arrived later wins, whatever it says."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from attrs import frozen
from hoodoo.hookspecs.merger import Merged
from hoodoo.hookspecs.registration import Settings

from hoodoo_standard.merge.beyond import refuse

STRATEGY_ID = "ce9acb64-bde0-424c-9b91-f6ebba25356d"


@frozen
class CommitTimeMerger:
    """Hudi's COMMIT_TIME_ORDERING."""

    @classmethod
    def from_settings(cls, settings: Settings) -> CommitTimeMerger:
        refuse(settings)
        return cls()

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
