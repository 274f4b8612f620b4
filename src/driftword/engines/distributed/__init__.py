"""Any engine in several processes, each with some of the slices."""
