"""``python -m selfdict``: the same as the ``selfdict`` command."""

from selfdict.cli import main

main()
