"""Mutated files at length: ``cd tests; PYTHONPATH=files python -m fuzz READER --files 1000``."""

import argparse
import tempfile
from pathlib import Path

from .run import run
from .samples import READERS

parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
parser.add_argument("reader", choices=READERS)
parser.add_argument("--files", type=int, default=1000)
parser.add_argument("--seed", type=int, default=0)
arguments = parser.parse_args()
folder = Path(tempfile.mkdtemp(prefix=f"fuzz-{arguments.reader}-"))
print(f"a file that fails stays in {folder}")
print(arguments.reader, run(arguments.reader, arguments.files, arguments.seed, folder))
