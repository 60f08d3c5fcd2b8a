"""What a base file's footer says about its record keys: the smallest, the largest, a bloom
filter. For formats of other distributions, too."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from attrs import Factory, define, field
from hoodoo.hookspecs.file_format import StoredFilter
from hoodoo.model.meta import RECORD_KEY
from hoodoo.options.option import OptionSource
from hoodoo.options.table import INDEX_TYPE
from hoodoo.options.virtual import KEPT_META, POPULATE

from hoodoo_formats import bloom
from hoodoo_formats import options as names
from hoodoo_formats.bloom import BloomOptions as BloomOptions

MIN_KEY = "hoodie_min_record_key"
MAX_KEY = "hoodie_max_record_key"
FILTER = "org.apache.hudi.bloomfilter"
FILTER_TYPE = "hoodie_bloom_filter_type_code"
FOOTER_KEYS = frozenset({MIN_KEY, MAX_KEY, FILTER, FILTER_TYPE})


class HasFooter(Protocol):
    """What a file says of itself that another one replaces."""

    @property
    def num_rows(self) -> int: ...

    @property
    def metadata(self) -> Mapping[str, str]: ...


@define
class KeyStats:
    """Collects the record keys of a file under construction; holds their bytes until the end,
    because a filter is sized by the number of keys. ``options`` None: no bloom filter.

    ``started`` is the filter of a file whose keys are taken over: new ones are added to it.
    """

    options: bloom.BloomOptions | None = Factory(bloom.BloomOptions)
    rows: int = 0
    low: str | None = None
    high: str | None = None
    started: bloom.Growing | None = None
    _keys: list[pa.Array] = field(factory=list)

    @staticmethod
    def begin(
        options: bloom.BloomOptions | None,
        expected_rows: int | None = None,
        base: HasFooter | None = None,
    ) -> KeyStats:
        """Of a file that a writer begins: ``expected_rows`` and ``base`` (the open file that it
        replaces) as the writer got them. A filter of ``base`` that will do is built upon."""
        if base is not None:
            rows = base.num_rows if expected_rows is None else expected_rows
            carried = KeyStats.carried(base.metadata, options, rows)
            if carried is not None:
                return carried
        return KeyStats(options)

    @staticmethod
    def carried(
        metadata: Mapping[str, str], options: bloom.BloomOptions | None, rows: int
    ) -> KeyStats | None:
        """Start from the filter of another file's footer, for a file of about ``rows`` rows.

        Deleted keys stay in: it says "perhaps" a little more often. None where that filter can't be
        built upon: there is none, or it is too small.
        """
        text = metadata.get(FILTER)
        if options is None or not text:
            return None
        kind = metadata.get(FILTER_TYPE, bloom.SIMPLE)
        started = bloom.Growing.from_footer(text, kind, options, rows)
        return None if started is None else KeyStats(options, started=started)

    def add(self, keys: pa.Array, known: bool = False) -> None:
        """``keys``: strings, null for rows without a stored key (virtual keys); ``known`` ones are
        in the filter that is carried over, if one is."""
        self.rows += len(keys)
        if keys.null_count:
            keys = keys.drop_null()
        if not len(keys):
            return
        self.reach(min_max(keys))
        if self.options is not None and not (known and self.started):
            # A copy of the keys alone: the batch they came in may share one allocation with all its
            # columns, which a slice would keep alive.
            self._keys.append(pa.concat_arrays([keys, pa.array([], keys.type)]))

    def outgrows(self, base: HasFooter) -> bool:
        """Whether the filter that was started, that of ``base``, is too small for the rows that
        have come."""
        if self.started is None or self.rows <= base.num_rows:
            return False
        return KeyStats.carried(base.metadata, self.options, self.rows) is None

    def restart(self, stored: Iterable[pa.Array]) -> None:
        """Give up the filter that was started, and build one of its keys, ``stored``, and of those
        that came."""
        self.started = None
        self._keys += (keys.drop_null() for keys in stored)

    def reach(self, ends: tuple[str, str] | None) -> None:
        """The file has keys from the one to the other."""
        if ends is not None:
            low, high = ends
            self.low = low if self.low is None else min(self.low, low, key=java_order)
            self.high = high if self.high is None else max(self.high, high, key=java_order)

    @property
    def filter_bytes(self) -> int:
        """Bytes of the filter over the keys that have come so far, as text; about what
        :meth:`footer` adds."""
        if self.options is None or self.low is None:
            return 0
        return bloom.text_bytes(self.rows, self.options)

    def footer(self) -> dict[str, str | bytes]:
        """The footer's entries; none for rows that have no stored keys."""
        made: dict[str, str | bytes] = {}
        if self.low is not None and self.high is not None:
            made |= {MIN_KEY: self.low, MAX_KEY: self.high}
        keys = pa.chunked_array(self._keys, pa.string())
        if self.started is not None:
            # A file without a filter is read for its keys; one whose filter is damaged, never.
            if (text := self.started.with_keys(keys)) is not None:
                made |= {FILTER: text, FILTER_TYPE: self.started.kind}
        elif self.options is not None and (self._keys or not self.rows):
            made |= {FILTER: bloom.build(keys, self.options), FILTER_TYPE: self.options.kind}
        return made


def key_range(footer: Mapping[str, str]) -> tuple[str, str] | None:
    """The smallest and the largest key that a footer names."""
    low, high = footer.get(MIN_KEY), footer.get(MAX_KEY)
    return None if low is None or high is None else (low, high)


def key_filter(footer: Mapping[str, str], obj: str = "base file") -> bloom.BloomFilter | None:
    """The filter in a footer. Raises CorruptTableError naming ``obj`` for one that can't be
    read."""
    text = footer.get(FILTER)
    # Writers other than Hoodoo name the type of dynamic filters only.
    kind = footer.get(FILTER_TYPE, bloom.SIMPLE)
    return None if text is None else bloom.parse(text, kind, obj)


def filter_options(settings: OptionSource) -> BloomOptions | None:
    """How filters are made; None: they are not, by Hudi's rule: the option says so, and there is no
    bloom index that would find nothing without them. ConfigError for a value that is not usable."""
    given = (settings.given(INDEX_TYPE) or "", settings.get("hoodoo.index.type") or "")
    if settings.value(names.BLOOM_FILTER) or any("BLOOM" in name.upper() for name in given):
        return BloomOptions.from_settings(settings)
    return None


def are_stored(settings: OptionSource) -> bool:
    """Whether files store record keys."""
    return settings.value(POPULATE) or RECORD_KEY in (settings.given(KEPT_META) or ())


def stored_filter(path: str, footer: Mapping[str, str]) -> StoredFilter | None:
    """The filter in the footer of the base file ``path``, for who keeps it elsewhere, too."""
    if FILTER not in footer:
        return None
    kind = footer.get(FILTER_TYPE, bloom.SIMPLE).upper()
    return StoredFilter(path, kind, footer[FILTER].encode())


def rebuilt_filter(reader: Any, path: str, options: BloomOptions | None) -> StoredFilter | None:
    """Of all keys of an open base file that has no filter; None where it stores none."""
    if RECORD_KEY not in reader.schema.names:
        return None
    chunks = [batch.column(0) for batch in reader.batches([RECORD_KEY])]
    stored = pa.chunked_array(chunks, pa.string()).drop_null()
    if chunks and not len(stored):  # virtual keys
        return None
    options = options or BloomOptions()
    return StoredFilter(path, options.kind, bloom.build(stored, options))


def opened_filter(stored: StoredFilter) -> bloom.BloomFilter:
    """The filter that is stored elsewhere. CorruptTableError for one that can't be read."""
    return bloom.parse(stored.content, stored.kind, f"stored bloom filter of {stored.path}")


def java_order(key: str) -> bytes:
    """Sorts strings as Java's String.compareTo does: by UTF-16 unit."""
    return key.encode("utf-16-be")


def _data(keys: pa.Array) -> npt.NDArray[np.uint8]:
    content = keys.buffers()[2]
    return np.zeros(0, np.uint8) if content is None else np.frombuffer(content, np.uint8)


def min_max(keys: pa.Array) -> tuple[str, str] | None:
    """Smallest and largest key in the order of Java's String.compareTo; None without keys.

    Java compares UTF-16 units, Arrow compares UTF-8 bytes. They differ only where a character
    beyond U+FFFF (lead byte F0 to F4) meets one from U+E000 on (EE, EF): lifting the lead bytes EE
    and EF above F4 makes the order of the bytes Java's.
    """
    if len(keys) == keys.null_count:
        return None
    data = _data(keys)
    if not len(data) or data.max() < 0xF0:
        found = pc.min_max(keys)
        return found["min"].as_py(), found["max"].as_py()
    lifted = data + np.where((data == 0xEE) | (data == 0xEF), np.uint8(10), np.uint8(0))
    moved = pa.Array.from_buffers(
        pa.binary(),
        len(keys),
        [keys.buffers()[0], keys.buffers()[1], pa.py_buffer(lifted)],
        offset=keys.offset,
    )
    found = pc.min_max(moved)
    back = bytes(b - 10 if b in (0xF8, 0xF9) else b for b in range(256))
    low, high = (found[end].as_py().translate(back).decode() for end in ("min", "max"))
    return low, high
