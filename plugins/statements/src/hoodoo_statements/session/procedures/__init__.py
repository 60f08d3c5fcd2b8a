"""CALL: Hudi's procedures by their names, with their arguments and the columns of their answers."""
