"""The runs of the authors' program in ``fixtures/`` (its README says what they hold)."""

from pathlib import Path

import numpy as np

CASES = (1, 2, 3, 4, 5, 7)


def load(case):
    with np.load(
        Path(__file__).parent / "fixtures" / f"fgnsr_case_{case}.npz", allow_pickle=False
    ) as file:
        data = {key: file[key][()] for key in file.files}
    r = int(data["r"])
    # the settings that `description` names: how mu was steered in that run
    data["target"], data["target_every"] = {
        2: (("trace", r / 2 + 1), None),
        4: (("residual", float(data["eps_noise"])), 10),
        5: (("trace", r / 2 + 1), None),
    }.get(case, (None, None))
    return data
