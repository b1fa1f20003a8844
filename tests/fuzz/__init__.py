"""Damaged files for each reader: valid samples, mutations, and a worker that reads them."""
