"""The worker as a process with a limit on its memory."""

import os
import resource
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).parent.parent


def run_worker(reader, seconds, seed, folder):
    """Run the worker for a reader, or for several with commas between, and return how it ended."""
    # The last resort, far above what the worker allows itself: a file that asks for more must not
    # stop the machine.
    limit = 16 * 2**30
    return subprocess.run(
        [sys.executable, "-m", "fuzz.worker", reader, str(seconds), str(seed), str(folder)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([*_python_path(), str(TESTS)])},
        capture_output=True,
        text=True,
        timeout=20 * seconds + 200,  # a busy machine may take much longer than the processor time
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
    )


def _python_path():
    path = os.environ.get("PYTHONPATH", "")
    return [part for part in path.split(os.pathsep) if part]
