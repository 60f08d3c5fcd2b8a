"""What needs dbt has settings of its own: tox run -e dbt."""

collect_ignore = ["suite"]
