"""What stored bytes cost: a price for each kind of store."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from attrs import field, frozen
from hoodoo.errors import ConfigError
from hoodoo.storage.uri import split

# The environment may have prices, with spaces between.
PRICE = "HOODOO_PRICE"
_GB = 1_000_000_000


@frozen
class Prices:
    """What a GB (10^9 bytes) costs in a month, by the scheme of the store; ``""`` is for others."""

    by_scheme: Mapping[str, float] = field(factory=dict)

    @classmethod
    def of(cls, given: Iterable[str]) -> Prices:
        """``s3=0.023`` or ``0.02`` each. ConfigError for what is no price, or given twice."""
        found: dict[str, float] = {}
        for text in given:
            scheme, _, number = text.rpartition("=")
            try:
                price = float(number)
            except ValueError:
                price = math.nan
            if not 0 <= price < math.inf:
                raise ConfigError(f"price {text!r}", "is no price.", "Write s3=0.023, or 0.023.")
            name = scheme.strip().removesuffix("://")
            if found.setdefault(name, price) != price:
                raise ConfigError(
                    f"price of {name or 'all stores'}", "is given twice.", "Give one."
                )
        return cls(found)

    def __bool__(self) -> bool:
        return bool(self.by_scheme)

    def cost(self, path: str, size: int) -> float | None:
        """What ``size`` bytes at ``path`` cost in a month; None without a price for this store."""
        scheme = split(path)[0] or "file"
        price = self.by_scheme.get(scheme, self.by_scheme.get(""))
        return None if price is None else price * size / _GB
