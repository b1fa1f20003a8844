"""Any bytes give a scene or an error of one line: no crash, no bomb, nothing on standard error."""

import json

import pytest

from .process import run_worker
from .samples import READERS


@pytest.mark.parametrize("reader", READERS)
def test_mutated_files(reader, tmp_path):
    result = run_worker(reader, 3, 0, tmp_path)
    assert (result.returncode, result.stderr) == (0, ""), result.stdout
    counts = json.loads(result.stdout)
    assert counts["files"] == counts["read"] + counts["refused"]
    # the mutations must reach beyond the first check
    assert counts["files"] > 5
    assert counts["refused"] > 0
