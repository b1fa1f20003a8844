"""The same algorithms on clusters; each backend needs its own extra."""
