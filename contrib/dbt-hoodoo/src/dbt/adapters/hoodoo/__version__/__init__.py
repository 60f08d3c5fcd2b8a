"""The version, as dbt asks for it."""

from hoodoo_dbt import __version__ as version

__all__ = ["version"]
