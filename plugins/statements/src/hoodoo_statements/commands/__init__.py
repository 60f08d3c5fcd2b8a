"""The subcommands of ``hoodoo`` that are about statements."""
