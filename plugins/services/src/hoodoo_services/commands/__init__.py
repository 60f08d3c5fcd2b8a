"""The subcommands of ``hoodoo`` that come with this distribution, a module each."""
