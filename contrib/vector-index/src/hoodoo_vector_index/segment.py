"""Segment: the index of one base file, which never changes, as the file does not.

Vectors lie in lists around the centres of a k-means of the file, with 8 bits a number. A list of
vectors that is near to a query is compared, the others are not. faiss does both. Where vectors vary
in few directions, as embeddings do, the lists have these alone: less is compared, and lists may be
shorter, of which fewer have to be looked into."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterable
from math import ceil, isqrt
from typing import Any

import faiss
import numpy as np
import pyarrow as pa
from attrs import field, frozen
from numpy.typing import NDArray

_MAGIC = b"HVEC0001"
_HEAD = struct.Struct("<8sIII")  # magic, checksum of the rest, bytes of the header and of the keys
# Vectors of each list that the centres are made of, and rounds: more are hardly better.
_SAMPLE, _ROUNDS = 64, 10
# Of each dimension so many vectors tell which directions matter: those with this part of what
# varies, as neighbours differ in little of it. They are taken where they are at most that share of
# all.
_OF_EACH, _VARIES, _MOST = 8, 0.999, 0.75
# So many lists are looked into at least: a small file has few.
_LEAST_LISTS = 16
Found = tuple[NDArray[np.float32], NDArray[np.int64]]


@frozen
class Segment:
    """``size``: bytes of the base file. ``why``: why it is searched whole, empty where ``lists``
    are there. ``keys``: record keys, in the order in which vectors were added. ``zeros``: rows with
    no direction, of the metric cosine."""

    size: int
    dimension: int
    why: str = ""
    keys: pa.Array = field(factory=lambda: pa.array([], pa.string()), eq=False)
    zeros: pa.Array = field(factory=lambda: pa.array([], pa.string()), eq=False)
    lists: faiss.Index | None = field(default=None, eq=False)
    stored: int = 0

    @classmethod
    def of(
        cls, size: int, metric: str, keys: pa.Array, vectors: NDArray[np.float32], least: int
    ) -> Segment:
        """The segment of a base file with ``size`` bytes and these rows, of which none is null."""
        rows, dimension = vectors.shape
        if rows < least:
            return cls(size, dimension, f"fewer than {least} vectors")
        if keys.null_count:
            return cls(size, dimension, "rows without record keys")
        if not np.isfinite(vectors).all():
            return cls(size, dimension, "vectors with NaN, or numbers beyond 32 bits")
        zeros = keys.slice(0, 0)
        if metric == "cosine":
            lengths: Any = np.linalg.norm(vectors, axis=1)
            usable = (lengths > 1e-15) & np.isfinite(lengths)
            zeros, keys = keys.filter(pa.array(~usable)), keys.filter(pa.array(usable))
            vectors = np.divide(vectors[usable], lengths[usable, None], dtype=np.float32)
            if not len(vectors):
                return cls(size, dimension, "vectors without a direction")
        return cls(size, dimension, "", keys, zeros, _lists(vectors, metric))

    def near(self, metric: str, queries: NDArray[np.float32], count: int, share: float) -> Found:
        """Of each query (axis 0) ``count`` positions in ``keys``, -1 where there are no more, and
        numbers that grow with the distance: those of other segments compare with them."""
        assert self.lists is not None
        if metric == "cosine":
            lengths = np.linalg.norm(queries, axis=1, keepdims=True)
            queries = np.asarray(queries / np.where(lengths == 0, 1, lengths), np.float32)
        count_of = faiss.extract_index_ivf(self.lists).nlist
        probes = faiss.SearchParametersIVF(nprobe=max(_LEAST_LISTS, ceil(count_of * share)))
        if isinstance(self.lists, faiss.IndexPreTransform):
            probes = faiss.SearchParametersPreTransform(index_params=probes)
        queries = np.ascontiguousarray(queries, np.float32)
        apart, places = self.lists.search(queries, min(count, len(self.keys)), params=probes)
        return (apart if metric == "l2" else -apart), places

    # --- bytes ------------------------------------------------------------------------------------
    def to_bytes(self) -> bytes:
        """All of it, with a checksum."""
        lists = b"" if self.lists is None else faiss.serialize_index(self.lists).tobytes()
        keys = b"" if self.lists is None else _packed(self.keys) + _packed(self.zeros)
        first = 0 if self.lists is None else len(_packed(self.keys))
        said = {"size": self.size, "dimension": self.dimension, "why": self.why, "first": first}
        header = json.dumps(said).encode()
        rest = header + keys + lists
        return _HEAD.pack(_MAGIC, zlib.crc32(rest), len(header), len(keys)) + rest

    @classmethod
    def from_bytes(cls, data: bytes) -> Segment:
        """The inverse of :meth:`to_bytes`. ValueError for other bytes."""
        if len(data) < _HEAD.size:
            raise ValueError("is cut off")
        magic, checksum, head, keys = _HEAD.unpack_from(data)
        rest = memoryview(data)[_HEAD.size :]
        if magic != _MAGIC or zlib.crc32(rest) != checksum:
            raise ValueError("is damaged, or of another version")
        said = json.loads(bytes(rest[:head]))
        size, dimension, why, first = (said[k] for k in ("size", "dimension", "why", "first"))
        if why:
            return cls(size, dimension, why, stored=len(data))
        names = rest[head : head + keys]
        lists = faiss.deserialize_index(np.frombuffer(rest[head + keys :], np.uint8))
        parts = _unpacked(names[:first]), _unpacked(names[first:])
        return cls(size, dimension, why, *parts, lists, len(data))


def _lists(vectors: NDArray[np.float32], metric: str) -> faiss.Index:
    count, dimension = vectors.shape
    drawn = np.random.default_rng(0).permutation(count)
    directions = _directions(vectors[np.sort(drawn[: _OF_EACH * dimension])])
    # Centres are compared with each query: twice as many where that costs half as much.
    lists = max(1, isqrt(count) * min(4, dimension // len(directions)))
    inner = faiss.index_factory(len(directions), f"IVF{lists},SQ8", _measure(metric))
    inner.cp.niter, inner.cp.max_points_per_centroid = _ROUNDS, _SAMPLE
    inner.cp.min_points_per_centroid = 1
    made = inner
    if len(directions) < dimension:
        turn = faiss.LinearTransform(dimension, len(directions), False)
        faiss.copy_array_to_vector(directions.ravel(), turn.A)
        turn.is_trained = True
        made = faiss.IndexPreTransform(turn, inner)
    made.train(np.ascontiguousarray(vectors[np.sort(drawn[: _SAMPLE * lists])]))
    made.add(vectors)
    return made


def _measure(metric: str) -> int:
    found: int = faiss.METRIC_L2 if metric == "l2" else faiss.METRIC_INNER_PRODUCT
    return found


def _directions(sample: NDArray[np.float32]) -> NDArray[np.float32]:
    """Directions, one in each row, at right angles, that have nearly all in which ``sample``
    varies, and its mean: inner products need it. All of them where few of them do not suffice."""
    count, dimension = sample.shape
    every = np.eye(dimension, dtype=np.float32)
    if count < _OF_EACH * dimension or dimension < 2 * _LEAST_LISTS:
        return every
    with np.errstate(over="ignore", invalid="ignore"):
        mean = sample.mean(axis=0)
        apart = sample - mean
        moments = apart.T @ apart
    if not np.isfinite(moments).all():
        return every
    varies, found = np.linalg.eigh(moments)
    part = np.cumsum(varies[::-1])
    needed = int(np.searchsorted(part, _VARIES * part[-1])) + 2  # one is the mean's
    needed = -(-needed // _LEAST_LISTS) * _LEAST_LISTS  # faiss is fast at such numbers
    if needed > _MOST * dimension:
        return every
    chosen = np.concatenate([mean[:, None], found[:, :-needed:-1]], axis=1)
    return np.ascontiguousarray(np.linalg.qr(chosen)[0].T, np.float32)


def _packed(keys: pa.Array) -> bytes:
    sink = pa.BufferOutputStream()
    batch = pa.record_batch([keys], ["key"])
    with pa.ipc.new_stream(sink, batch.schema) as stream:
        stream.write_batch(batch)
    return bytes(sink.getvalue())


def _unpacked(data: Iterable[int] | memoryview) -> pa.Array:
    with pa.ipc.open_stream(pa.py_buffer(data)) as stream:
        return stream.read_next_batch().column(0)
