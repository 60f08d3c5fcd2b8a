"""The subcommands that go with no other distribution, a module each."""
