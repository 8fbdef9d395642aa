"""Work on other processes and machines, by Dask: who may work, how tasks get there, and what becomes of them."""
