"""Index size: how many file groups a record index is made with; they stay so many (features page 1.3)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from attrs import frozen

from hoodoo.errors import ConfigError
from hoodoo.hookspecs.index import LookupIndex
from hoodoo.metadata.layout import estimated_groups

_INDEX = "hoodie.metadata.record.index"
# The older name comes second.
_OF_TABLE = ("hoodie.metadata.global.record.level.index", _INDEX)
_OF_PATHS = ("hoodie.metadata.record.level.index", "hoodie.metadata.partitioned.record.index")


@frozen
class IndexSize:
    """How many file groups a record index gets (features page 1.3)."""

    least: int = 10
    most: int = 10_000
    growth: float = 2.0
    group_bytes: int = 1 << 30
    partitioned: bool = False  # the numbers are then for each partition path
    # Asked where keys lie, in place of the files, when the index is made.
    source: LookupIndex | None = None
    # Is told how many keys were found in more than one place then.
    told: Callable[[int], None] = lambda repeated: None

    @classmethod
    def of(cls, options: Mapping[str, str], partitioned: bool = False) -> IndexSize:
        """By Hudi's options. Raises ConfigError for what is no number, or a minimum above the maximum."""
        least, most = (1, 10) if partitioned else (cls().least, cls().most)
        of_groups = _OF_PATHS if partitioned else _OF_TABLE
        found = cls(
            int(_number(options, [f"{key}.min.filegroup.count" for key in of_groups], least)),
            int(_number(options, [f"{key}.max.filegroup.count" for key in of_groups], most)),
            _number(options, [f"{_INDEX}.growth.factor"], cls().growth),
            int(_number(options, [f"{_INDEX}.max.filegroup.size"], cls().group_bytes)),
            partitioned,
        )
        if not 1 <= found.least <= found.most:
            raise ConfigError(
                f"option {of_groups[0]}.min.filegroup.count",
                f"{found.least} file groups are not between 1 and {found.most}, the most.",
                "Correct one of the two.",
            )
        return found

    def groups(self, rows: int) -> int:
        return estimated_groups(
            rows,
            least=self.least,
            most=self.most,
            growth=self.growth,
            group_bytes=self.group_bytes,
        )


def _number(options: Mapping[str, str], keys: Sequence[str], default: float) -> float:
    for key in keys:
        if key in options:
            try:
                value = float(options[key])
            except ValueError:
                value = -1
            if not 0 < value < 2**62:
                raise ConfigError(
                    f"option {key}",
                    f"must be a number above 0, not {options[key]!r}.",
                    "Correct it.",
                )
            return value
    return default
