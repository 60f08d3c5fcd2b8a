"""New tables: what arguments and Hudi's options mean for their properties; what lies where no table
is."""
