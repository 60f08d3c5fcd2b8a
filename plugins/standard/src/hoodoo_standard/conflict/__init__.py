"""Conflict strategies: which writes can be published one after the other."""
