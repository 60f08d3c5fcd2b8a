"""Contract suites of plugins that work with rows: engines, serializers, query types, functions; and
what they need."""
