"""A clustering for Hoodoo: flights lie in files by the geography of their route."""

from __future__ import annotations

from hoodoo_route_geography.clustering import RouteGeography

__version__ = "1.0.0"

__all__ = ["RouteGeography", "__version__"]
