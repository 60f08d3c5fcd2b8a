"""What is looked for: record keys, and other texts, in values of any kind of file."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable, Iterator

import pyarrow as pa
import pyarrow.compute as pc
from attrs import field, frozen

RECORD_KEYS = "record key"
# A shorter text is in other values by chance: it is looked for as a whole record key only.
LEAST = 6
# Of more texts than so many none is looked for inside of other texts: it would take too long.
MOST = 1000


@frozen
class Part:
    """Values of a file: an array, or bytes. ``place`` names them for the report."""

    place: str
    values: pa.Array | bytes


@frozen
class Sought:
    """``keys`` are record keys; ``texts`` other values that the user names."""

    keys: tuple[str, ...]
    texts: tuple[str, ...] = ()
    _keys: pa.Array = field(init=False, eq=False, repr=False)
    _exact: pa.Array = field(init=False, eq=False, repr=False)
    inside: tuple[str, ...] = field(init=False, eq=False, repr=False)

    @_keys.default
    def _all_keys(self) -> pa.Array:
        return pa.array([*self.keys, *self.texts], pa.binary())

    @_exact.default
    def _long(self) -> pa.Array:
        long = [key for key in self.keys if len(key.encode()) >= LEAST]
        return pa.array([*long, *self.texts], pa.binary())

    @inside.default
    def _inside(self) -> tuple[str, ...]:
        """Those that are looked for inside of other texts."""
        found = self._exact.cast(pa.string()).to_pylist()
        return tuple(found) if len(found) <= MOST else self.texts

    def __len__(self) -> int:
        return len(self.keys) + len(self.texts)

    def of(self, part: Part) -> set[str]:
        """Those that are in ``part``."""
        if isinstance(part.values, bytes):
            return set(self.in_bytes(part.values))
        found: set[str] = set()
        for values in _texts(part.values):
            wanted = self._keys if part.place == RECORD_KEYS else self._exact
            same = values.filter(pc.is_in(values, value_set=wanted))
            found |= {one.decode() for one in pc.unique(same).to_pylist()}
            data = values.buffers()[2]
            for text in () if data is None else self.in_bytes(data.to_pybytes()):
                if text not in found and pc.any(pc.match_substring(values, text.encode())).as_py():
                    found.add(text)
        return found

    def in_bytes(self, data: bytes) -> Iterator[str]:
        """Those whose bytes are in ``data``."""
        return (text for text in self.inside if text.encode() in data)

    @property
    def longest(self) -> int:
        """Bytes of the longest text that is looked for inside of others."""
        return max((len(text.encode()) for text in self.inside), default=1)


def _texts(values: pa.Array) -> Iterator[pa.Array]:
    """The texts and bytes of an array of any type, as arrays of bytes without nulls. Of a
    dictionary all entries count, also those that no row has."""
    kind = values.type
    if isinstance(values, pa.ChunkedArray):
        for chunk in values.chunks:
            yield from _texts(chunk)
    elif pa.types.is_dictionary(kind):
        yield from _texts(values.dictionary)
    elif pa.types.is_struct(kind):
        for child in values.flatten():
            yield from _texts(child)
    elif pa.types.is_map(kind):
        yield from _texts(values.keys)
        yield from _texts(values.items)
    elif pa.types.is_list(kind) or pa.types.is_large_list(kind):
        yield from _texts(values.values)
    elif pa.types.is_fixed_size_list(kind):
        yield from _texts(values.flatten())
    elif (
        pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
        or pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
        or pa.types.is_fixed_size_binary(kind)
    ):
        yield values.drop_null().cast(pa.binary())


@frozen
class Hashes:
    """How keys are named in a report: HMAC-SHA256 with the user's key, or with a salt that the
    report has, by which a key can be guessed."""

    secret: bytes
    is_signing: bool

    def of(self, text: str) -> str:
        return hmac.new(self.secret, text.encode(), hashlib.sha256).hexdigest()

    def hidden(self, text: str, sought: Iterable[str]) -> str:
        """``text``, such as a path, without any of the keys."""
        for one in sorted(sought, key=len, reverse=True):
            text = text.replace(one, f"<{self.of(one)[:16]}>")
        return text
