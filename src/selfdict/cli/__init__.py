"""The ``selfdict`` command.

Exit codes: 0 fine, 1 a defect of the program, 2 bad input or usage, 130 interrupted.
"""

import gc
import os
import sys
import time
from collections.abc import Sequence

BEGAN = time.perf_counter()


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line with ``arguments`` (default: those of the process) and exit."""
    from selfdict._imports import optional

    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            # It is closed. An output file would get its number, and what libraries print there.
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode))
    # An optional package: checked before a module imports it, to name the extra.
    try:
        optional("click")
        from selfdict.cli.app import app
    except ModuleNotFoundError as error:
        print(f"error: {error}", file=sys.stderr)
        raise SystemExit(2) from None
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    if arguments is not None:
        arguments = list(arguments)
    try:
        app(args=arguments, prog_name="selfdict")
    finally:
        # The process ends. Python would first search all objects of the imported libraries for
        # garbage, which takes a third of a second.
        gc.freeze()
