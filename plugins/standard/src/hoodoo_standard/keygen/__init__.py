"""Key generators: record key and partition path of a row, byte for byte as Hudi makes them."""
