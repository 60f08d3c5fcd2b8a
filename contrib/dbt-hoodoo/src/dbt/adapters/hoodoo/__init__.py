"""The adapter of dbt for tables that Hoodoo writes and queries."""

from dbt.adapters.base import AdapterPlugin
from dbt.adapters.hoodoo.connections import HoodooConnectionManager, HoodooCredentials
from dbt.adapters.hoodoo.impl import HoodooAdapter
from dbt.adapters.hoodoo.relation import HoodooRelation
from dbt.include import hoodoo

Plugin = AdapterPlugin(
    adapter=HoodooAdapter,  # type: ignore[arg-type]
    credentials=HoodooCredentials,
    include_path=hoodoo.PACKAGE_PATH,
)

__all__ = ["HoodooConnectionManager", "HoodooCredentials", "HoodooRelation", "Plugin"]
