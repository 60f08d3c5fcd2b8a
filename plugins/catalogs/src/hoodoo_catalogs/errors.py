"""The error of catalogs."""

from __future__ import annotations

from hoodoo.errors import HoodooError


class CatalogError(HoodooError):
    """A catalog that is not reachable, that refuses a call, or that has another table of the name."""
