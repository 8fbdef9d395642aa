"""Pattern tables: values of positions summed over tuples of cells, for boards that no table of positions can hold."""
