"""Logs of change data: how a rewrite of a base file is noted, and in what schema."""
