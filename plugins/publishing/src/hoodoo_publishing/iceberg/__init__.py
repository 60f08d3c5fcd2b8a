"""Apache Iceberg, format version 2: metadata files, manifest lists and manifests."""
