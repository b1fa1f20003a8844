"""What a computation tells while it runs: every step, one line after ten seconds, or nothing."""

import sys
from threading import Timer
from types import TracebackType
from typing import Self

PATIENCE = 10.0  # seconds


class Announcer:
    """The meaning of ``verbose``, for the time of a ``with`` block.

    True prints every step; None says what is being done once, on stderr, if the block takes longer
    than ``patience`` seconds; False is silent.
    """

    def __init__(self, name: str, verbose: bool | None, patience: float = PATIENCE) -> None:
        self._name = name
        self._verbose = verbose
        self._patience = patience
        self._step = "starting"
        self._timer = Timer(patience, self._announce)
        self._timer.daemon = True

    def step(self, text: str) -> None:
        """Begin another step."""
        if self._verbose and text != self._step:
            print(f"[{self._name}] {text}")
        self._step = text

    def _announce(self) -> None:
        print(
            f"{self._name} has been running for {self._patience:.3g} s: {self._step}. "
            "verbose=True prints the progress, verbose=False nothing.",
            file=sys.stderr,
        )

    def __enter__(self) -> Self:
        if self._verbose is None:
            self._timer.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._timer.cancel()
