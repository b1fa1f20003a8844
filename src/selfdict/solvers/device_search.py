"""The data of a search on a GPU, where rows are screened and columns fitted."""

from dataclasses import dataclass, fields
from typing import Any

from selfdict._validation import Array
from selfdict.compute.device import runs_triton
from selfdict.gpu.gates import DeviceData, DeviceGates
from selfdict.gpu.screening import Screen
from selfdict.model.device_bounds import DeviceBounds
from selfdict.model.problem import Problem
from selfdict.solvers.search_data import SearchData


def search_data(problem: Problem, device: Any) -> SearchData:
    """Return the data of a search; on a GPU without Triton, rows are screened and no more."""
    if runs_triton(device):
        return DeviceSearchData.of(problem, device)
    return SearchData.of(problem, device)


@dataclass(frozen=True, eq=False)
class DeviceSearchData(SearchData):
    """A problem whose columns and atoms lie on a GPU as well.

    Attributes
    ----------
    on_device : DeviceData
    """

    on_device: DeviceData

    @classmethod
    def of(cls, problem: Problem, device: Any) -> "DeviceSearchData":
        """Take what counts out of a problem with a quadratic loss."""
        data = SearchData.of(problem, None)
        atoms = data.M
        if data.D is not None:
            atoms = data.D
        screen = Screen(atoms, data.v, device)
        values = {field.name: getattr(data, field.name) for field in fields(data)}
        values["device"] = device
        values["positive_sums"] = screen.positive_sums
        values["bounds"] = DeviceBounds(screen)
        on_device = DeviceData.of(data.M, data.w, screen.left, data.D is not None)
        return cls(**values, on_device=on_device)

    def gates(self, columns: Array | None = None, use_gram: bool = True) -> Any:
        """Return an empty working set for all columns, or for a sample that stands for all."""
        s = self.s
        if columns is not None:
            s = s * (self.n_columns / len(columns))
        return DeviceGates(self.on_device, self.M, self.w, s, columns, self.D, self.v)
