"""The metadata table of Hudi, and what is stored in it. See the distribution's setup.cfg."""

__version__ = "0.2.0"
