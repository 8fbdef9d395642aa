"""Work on other processes and machines with Dask: workers, tasks and their results."""
