"""Any bytes give a scene or an error of one line: no crash, no bomb, nothing on standard error."""

import json

import pytest

from .process import run_worker
from .samples import READERS

# Readers that share a process, whose imports take longer than reading the files.
NAMES = list(READERS)
GROUPS = [NAMES[start : start + 4] for start in range(0, len(NAMES), 4)]


@pytest.mark.parametrize("readers", GROUPS, ids=",".join)
def test_mutated_files(readers, tmp_path):
    result = run_worker(",".join(readers), 2, 0, tmp_path)
    assert (result.returncode, result.stderr) == (0, "")
    endings = [json.loads(line) for line in result.stdout.splitlines()]
    assert [reader for reader, *_ in endings] == readers
    for reader, code, output, errors in endings:
        assert (code, errors) == (0, ""), (reader, output)
        counts = json.loads(output)
        assert counts["files"] == counts["read"] + counts["refused"]
        # the mutations must reach beyond the first check
        assert counts["files"] > 5, reader
        assert counts["refused"] > 0, reader
