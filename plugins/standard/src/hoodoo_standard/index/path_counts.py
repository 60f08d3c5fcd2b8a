"""Numbers of buckets by partition path, by rules of regular expressions, as Hudi stores them.

Source: ``PartitionBucketIndexHashingConfig``, ``PartitionBucketIndexCalculator`` and
``RegexRuleEngine`` of Hudi 1.2. `.hoodie/.bucket_index/partition_bucket_index_meta/configs/` has a
file `<instant>.hashing_config` for each time that the rules became others, the first under an
instant of zeros. One counts if its instant is completed; the newest of these is that of now."""

from __future__ import annotations

import json

from attrs import frozen
from hoodoo.errors import CorruptTableError, UnsupportedTableError
from hoodoo.options.kinds import BadValueError
from hoodoo.storage.api import Storage
from hoodoo.timeline.instants import order_key
from hoodoo.timeline.snapshot import Snapshot

from hoodoo_standard.index.hashed_buckets import HashedBuckets
from hoodoo_standard.index.path_rules import MOST, REGEX, rules_of

FOLDER = ".hoodie/.bucket_index/partition_bucket_index_meta/configs"
FIRST = "0" * 14
_SUFFIX = ".hashing_config"


@frozen
class PathCounts:
    """``default``: of a path for which there is no rule."""

    expressions: str
    default: int
    hash_fields: tuple[str, ...]

    def count(self, path: str) -> int:
        found = (number for rule, number in rules_of(self.expressions) if rule.search(path))
        return next(found, self.default)

    def in_path(self, path: str) -> HashedBuckets:
        """The buckets of ``path``."""
        return HashedBuckets(self.count(path), self.hash_fields)

    def encode(self, instant: str) -> bytes:
        said = {
            "expressions": self.expressions,
            "defaultBucketNumber": self.default,
            "rule": REGEX,
            "version": 1,
            "instant": instant,
        }
        lines = (f'  "{key}" : {json.dumps(value)}' for key, value in said.items())
        return ("{\n" + ",\n".join(lines) + "\n}").encode()


def stored(snapshot: Snapshot, hash_fields: tuple[str, ...] = ()) -> PathCounts | None:
    """What the table says; None where it has the same number in each path."""
    storage = snapshot.storage
    names = [e.name for e in storage.list(FOLDER) if e.name.endswith(_SUFFIX)]
    if not names:
        return None
    # Also not of one that was undone, or that came after the look at the timeline.
    said, done = {name.removesuffix(_SUFFIX) for name in names}, snapshot.timeline
    instants = [i for i in said if i == FIRST or done.contains_or_before_start(i)]
    if not instants:
        return None
    return _read(storage, f"{FOLDER}/{max(instants, key=order_key)}{_SUFFIX}", hash_fields)


def first(storage: Storage, counts: PathCounts) -> None:
    """Note the rules of a table that has none yet; those of a faster writer stay."""
    storage.put_if_absent(f"{FOLDER}/{FIRST}{_SUFFIX}", counts.encode(FIRST))


def note(storage: Storage, counts: PathCounts, instant: str) -> None:
    """Note rules that count once ``instant`` is completed."""
    storage.put(f"{FOLDER}/{instant}{_SUFFIX}", counts.encode(instant))


def forget(storage: Storage, instant: str) -> None:
    """The rules that an action would have brought that is undone."""
    if any(entry.name == f"{instant}{_SUFFIX}" for entry in storage.list(FOLDER)):
        storage.delete(f"{FOLDER}/{instant}{_SUFFIX}")


def _read(storage: Storage, path: str, hash_fields: tuple[str, ...]) -> PathCounts:
    obj = f"{storage.root}/{path}"
    try:
        said = json.loads(storage.get(path))
        rule, default = str(said["rule"]), said["defaultBucketNumber"]
        counts = PathCounts(str(said["expressions"]), int(default), hash_fields)
        if not 0 < counts.default <= MOST:
            raise ValueError
    except (ValueError, TypeError, KeyError, RecursionError):
        raise CorruptTableError(
            obj,
            "does not say how many buckets a partition path has.",
            "Restore the file from a copy.",
        ) from None
    try:
        if rule.lower() != REGEX:
            raise BadValueError(f"has rules of the kind {rule!r}")
        rules_of(counts.expressions)
    except BadValueError as error:
        raise UnsupportedTableError(
            obj,
            f"{error}: where a key lies is not known here.",
            "Write to the table with Spark Hudi, or let it rescale the buckets by rules that both "
            "know. Reading works.",
        ) from None
    return counts
