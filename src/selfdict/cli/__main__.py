"""``python -m selfdict.cli``: the same as the ``selfdict`` command."""

from selfdict.cli import main

main()
