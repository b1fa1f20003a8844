"""Section 4 of the paper as commands: ``python -m reproduce figure1``, and so on."""
