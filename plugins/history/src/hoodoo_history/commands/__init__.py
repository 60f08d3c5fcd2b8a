"""The subcommands of ``hoodoo`` that are about the past of a table."""
