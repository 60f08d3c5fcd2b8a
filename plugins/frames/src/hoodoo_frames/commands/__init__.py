"""The subcommands of ``hoodoo`` that this distribution brings."""
