"""The family that hoodoo-serve works with, and brings: policies of services."""

from __future__ import annotations

from hoodoo_serve.hookspecs.service_policy import FAMILY as SERVICE_POLICY

__all__ = ["SERVICE_POLICY"]
