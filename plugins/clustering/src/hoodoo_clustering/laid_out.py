"""Laid out: which file slices a clustering has made just as another one is about to make them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache

from hoodoo.model.commit import Operation
from hoodoo.storage.api import Storage
from hoodoo.timeline.timeline import Timeline

from hoodoo_clustering.hookspecs.clustering import ClusteringGroup
from hoodoo_clustering.run import PARAMS, STRATEGY


class LaidOut:
    """``order`` is the name of what orders the rows, ``params`` is all that it goes by."""

    def __init__(
        self, storage: Storage, timeline: Timeline, order: str, params: Mapping[str, str]
    ) -> None:
        self._storage, self._timeline = storage, timeline
        self._order, self._params = order, dict(params)
        self._is_one = lru_cache(maxsize=None)(self._looked)

    def is_so(self, group: ClusteringGroup) -> bool:
        """Whether the files of ``group`` were written together, by one clustering with the same
        order and the same parameters, its target size among them, and hold nothing else. Of an
        instant that has been archived nothing is known."""
        bases = [item.slice.base_file for item in group.slices]
        if any(item.slice.row_logs for item in group.slices) or None in bases:
            return False
        instants = {base.instant for base in bases if base is not None}
        return len(instants) == 1 and self._is_one(next(iter(instants)))

    def _looked(self, requested: str) -> bool:
        instant = self._timeline.find(requested)
        if instant is None or not instant.traits.replaces:
            return False
        metadata = self._timeline.metadata(self._storage, instant)
        if metadata.operation is not Operation.CLUSTER:
            return False
        if metadata.extra.get(STRATEGY) != self._order:
            return False
        try:
            return bool(json.loads(metadata.extra.get(PARAMS, "null")) == self._params)
        except (ValueError, RecursionError):  # not one of Hoodoo's
            return False
