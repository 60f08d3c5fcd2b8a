"""Table services by themselves: a process that plans and runs them, and threads beside long-running
writers."""

__version__ = "0.2.0"
