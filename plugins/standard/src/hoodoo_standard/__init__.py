"""See the distribution's setup.cfg."""

__version__ = "0.2.0"
