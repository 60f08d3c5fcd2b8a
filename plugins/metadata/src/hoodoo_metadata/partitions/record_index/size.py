"""Index size: how many file groups a record index is made with; they stay so many (features page
1.3)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pyarrow as pa
from attrs import evolve, frozen
from hoodoo.errors import ConfigError
from hoodoo.hookspecs.participant import TableState

from hoodoo_metadata import options as keys
from hoodoo_metadata.table.layout import VIRTUAL_INDEXES, VIRTUAL_PATH_INDEX, estimated_groups


@frozen
class IndexSize:
    """How many file groups a record index gets (features page 1.3)."""

    least: int = keys.KEYS_LEAST.initial
    most: int = keys.KEYS_MOST.initial
    growth: float = keys.KEYS_GROWTH.initial
    group_bytes: int = keys.KEYS_BYTES.initial
    partitioned: bool = False  # the numbers are then for each partition path
    # Answers where all keys lie, in place of the files, when the index is made.
    source: Callable[[TableState], pa.Table] | None = None
    # Is told how many keys were found in more than one place then.
    told: Callable[[int], None] = lambda repeated: None

    @classmethod
    def of(cls, options: Mapping[str, str], partitioned: bool = False) -> IndexSize:
        """By Hudi's options. Raises ConfigError for what is no number, or a minimum above the
        maximum."""
        of_paths = keys.PATH_KEYS_LEAST, keys.PATH_KEYS_MOST
        least, most = of_paths if partitioned else (keys.KEYS_LEAST, keys.KEYS_MOST)
        found = cls(
            least.read(options),
            most.read(options),
            keys.KEYS_GROWTH.read(options),
            keys.KEYS_BYTES.read(options),
            partitioned,
        )
        if found.least > found.most:
            raise ConfigError(
                f"option {least.key}",
                f"{found.least} file groups are not between 1 and {found.most}, the most.",
                "Correct one of the two.",
            )
        return found

    @property
    def is_usual(self) -> bool:
        """Whether file groups may get as large, and tables grow as much, as by default."""
        return (self.growth, self.group_bytes) == (
            keys.KEYS_GROWTH.initial,
            keys.KEYS_BYTES.initial,
        )

    def of_partition(self, partition: str) -> IndexSize:
        """The same for the record index in ``partition``: some say by their names whether they are
        partitioned."""
        if partition not in VIRTUAL_INDEXES:
            return self
        return evolve(self, partitioned=partition == VIRTUAL_PATH_INDEX)

    def groups(self, rows: int) -> int:
        return estimated_groups(
            rows,
            least=self.least,
            most=self.most,
            growth=self.growth,
            group_bytes=self.group_bytes,
        )
