"""The only seam: a round of blocks, on whatever machine there is."""
