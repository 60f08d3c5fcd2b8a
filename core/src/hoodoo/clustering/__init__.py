"""Clustering: file slices that are small, or whose values overlap, become files that are neither (RFC-19).

Schedule: ``settings`` -> ``partitions`` and ``changed`` (where to look) -> ``eligible`` (which slices) ->
``bounds`` (what they hold) -> a planner (which of them together) -> ``schedule`` (the plan). Run: ``run``.
"""
