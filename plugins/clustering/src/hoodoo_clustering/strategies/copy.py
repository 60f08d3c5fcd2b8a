"""Copy: groups by size whose rows stay as they come, whatever columns are named to sort by.

Source: ``SparkStreamCopyClusteringPlanStrategy`` of Hudi 1.2.0, which also keeps files of different
columns apart, as they are joined byte by byte. Here rows are decoded (ADR 0018), and may be of any
files. The plan does not name the class that copies: in Spark Hudi that one stops at files whose key
filters have different sizes."""

from __future__ import annotations

from attrs import frozen

from hoodoo_clustering.strategies.by_size import BySize


@frozen
class AsTheyCome(BySize):
    order: str = "combine"
