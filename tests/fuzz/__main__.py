"""``python -m tests.fuzz READER --seconds 1800 --seed 1``: a long run, which prints counts."""

import argparse
import sys
import tempfile
from pathlib import Path

from .process import run_worker
from .samples import READERS

parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
parser.add_argument("reader", choices=READERS)
parser.add_argument("--seconds", type=float, default=1800, help="of processor time")
parser.add_argument("--seed", type=int, default=0)
arguments = parser.parse_args()
folder = Path(tempfile.mkdtemp(prefix=f"fuzz-{arguments.reader}-"))
result = run_worker(arguments.reader, arguments.seconds, arguments.seed, folder)
print(arguments.reader, result.stdout.strip(), flush=True)
if result.returncode != 0:
    print(f"exit code {result.returncode}, the file is in {folder}/case", file=sys.stderr)
    print(result.stderr, file=sys.stderr)
    raise SystemExit(1)
