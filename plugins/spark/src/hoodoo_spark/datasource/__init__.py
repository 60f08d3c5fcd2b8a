"""The data source ``hoodoo`` of Spark 4: what the classes of :mod:`pyspark_hoodoo` do.

Spark makes these objects in processes of its own, which have no session. They plan there, pickle
what tasks need, and commit in yet another process."""
