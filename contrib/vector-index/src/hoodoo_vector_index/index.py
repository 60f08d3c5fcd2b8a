"""The index: asks the segments of all base files, and takes the nearest of what they answer."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
from attrs import frozen
from hoodoo.hookspecs import Settings
from hoodoo.model.filegroup import FileSlice
from hoodoo_vectors.hookspecs.vector_index import NearRequest

from hoodoo_vector_index.columns import Indexed
from hoodoo_vector_index.plugin import MEMORY, SHARE
from hoodoo_vector_index.segment import Segment
from hoodoo_vector_index.segments import segment_of


@frozen
class IvfIndex:
    """Implements :class:`~hoodoo_vectors.hookspecs.vector_index.VectorIndex`."""

    share: float
    memory: int

    @classmethod
    def from_settings(cls, settings: Settings) -> IvfIndex:
        return cls(settings.value(SHARE), settings.value(MEMORY))

    def known(self, request: NearRequest) -> dict[FileSlice, Segment]:
        """The slices that are nothing but a base file which has a segment."""
        indexed = Indexed(request.column, request.metric)
        dimension = request.queries.shape[1]
        found = {}
        for slice_ in request.slices:
            file = slice_.base_file
            if file is None or slice_.row_logs:
                continue
            segment = segment_of(request.storage, indexed, file, self.memory)
            if segment is not None and not segment.why and segment.dimension == dimension:
                found[slice_] = segment
        return found

    def near(self, request: NearRequest) -> Mapping[FileSlice, pa.Array]:
        known = self.known(request)
        if not known:
            return {}
        queries = request.queries.astype(np.float32)
        if not np.isfinite(queries).all():
            return {}
        answers = [
            s.near(request.metric, queries, request.count, self.share) for s in known.values()
        ]
        whose = np.concatenate([np.full(a.shape[1], n) for n, (a, _p) in enumerate(answers)])
        apart = np.concatenate([a for a, _p in answers], axis=1)
        places = np.concatenate([p for _a, p in answers], axis=1)
        apart = np.where(places < 0, np.inf, apart)
        if apart.shape[1] > request.count:
            best = np.argpartition(apart, request.count - 1, axis=1)[:, : request.count]
        else:
            best = np.broadcast_to(np.arange(apart.shape[1]), apart.shape)
        chosen = np.take_along_axis(places, best, axis=1)
        files = np.broadcast_to(whose, places.shape)[np.arange(len(best))[:, None], best]
        found = {}
        for number, (slice_, segment) in enumerate(known.items()):
            own = np.unique(chosen[(files == number) & (chosen >= 0)])
            keys = segment.keys.take(pa.array(own, pa.int64()))
            # They have one distance from everything, so some of them stand for all.
            found[slice_] = pa.concat_arrays([keys, segment.zeros.slice(0, request.count)])
        return found
