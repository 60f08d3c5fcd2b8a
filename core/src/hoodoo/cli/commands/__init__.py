"""One module per command, with a function ``add(app: typer.Typer) -> None``."""
