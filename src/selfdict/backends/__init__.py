"""The same algorithms on other arrays and machines; each backend needs its own extra."""
