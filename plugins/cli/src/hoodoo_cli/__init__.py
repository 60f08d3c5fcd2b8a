"""See the distribution's setup.cfg."""

__version__ = "0.1.0"
