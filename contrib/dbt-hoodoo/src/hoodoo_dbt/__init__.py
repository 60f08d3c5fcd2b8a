"""What dbt needs of Hoodoo beyond a session: views that are stored, schemas, tables that are
replaced. It needs no dbt itself."""

__version__ = "0.2.0"
