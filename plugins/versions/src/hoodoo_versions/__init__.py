"""Upgrade and downgrade: a table goes from one table version of Hudi to another, rows unchanged.

``settings``: what its properties say in each version; ``timelines``: its timeline in the other
layout; ``change``: the order of the steps, and what refuses them."""

from __future__ import annotations

__version__ = "0.2.0"
