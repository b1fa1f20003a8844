"""Any bytes give a scene or an error of one line: no crash, nothing on standard error."""

import pytest

from .run import run
from .samples import READERS


@pytest.mark.parametrize("reader", READERS)
def test_mutated_files(reader, tmp_path, capfd):
    counts = run(reader, 12, 0, tmp_path)
    assert counts["read"] + counts["refused"] == 12
    # the mutations must reach beyond the first check
    assert counts["refused"] > 0
    assert capfd.readouterr() == ("", "")
