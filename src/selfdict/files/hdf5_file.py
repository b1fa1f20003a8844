"""An HDF5 file: its own datasets, attributes and text, without following links to other files."""

from pathlib import Path
from typing import Any

import h5py
import numpy as np

from selfdict.files.cube import Array
from selfdict.files.errors import SceneError
from selfdict.files.netcdf import Variable, decoded
from selfdict.files.values import parse_numbers, text_of, unpacked


class Hdf5File:
    """An open file. Names are paths from the root; a missing object is None."""

    def __init__(self, path: Path, source: Any = None) -> None:
        """Open a file, or a ``source`` of its bytes elsewhere."""
        self.path = path
        if source is None and not h5py.is_hdf5(path):
            raise SceneError(path, "is not an HDF5 file; HDF4 is not read")
        # Neighbouring blocks share unpacked chunks in the cache, of a prime number of slots.
        # A lock would keep others from writing as long as the scene is used.
        self.root = h5py.File(
            source or path, "r", rdcc_nbytes=2**28, rdcc_nslots=10_007, locking=False
        )

    def dataset(self, name: str) -> Any:
        """Return the dataset of that name, if its values are in this file.

        External links, external storage and virtual datasets would let a file read whatever its
        author names.
        """
        node = self._own_node(name)
        if not isinstance(node, h5py.Dataset) or node.external or node.is_virtual:
            return None
        return node

    def group(self, name: str) -> Any:
        """Return the group of that name; "" is the root."""
        node = self._own_node(name)
        if not isinstance(node, h5py.Group):
            return None
        return node

    def has(self, name: str) -> bool:
        """Whether there is a group, or a dataset with values, of that name."""
        dataset = self.dataset(name)
        if dataset is None:
            return self.group(name) is not None
        return not self.is_bare_dimension(dataset)

    def _own_node(self, name: str) -> Any:
        node = self.root
        # Any group on the way may be a link: each is examined before it is followed.
        for part in name.strip("/").split("/"):
            if not part:
                continue
            if not isinstance(node, h5py.Group):
                return None
            if not isinstance(node.get(part, getlink=True), h5py.HardLink):
                return None
            node = node[part]
        return node

    def members(self, group: str = "") -> list[str]:
        """Return the names in a group; h5py returns those that are no UTF-8 as bytes."""
        return [name for name in self.group(group) if isinstance(name, str)]

    def require(self, name: str) -> Any:
        """Return the dataset of that name; it is an error if there is none."""
        dataset = self.dataset(name)
        if dataset is None:
            raise SceneError(self.path, f"has no dataset {name} of its own")
        return dataset

    def cube(self, name: str) -> Any:
        """Return the dataset of that name, which must have three axes of real numbers."""
        dataset = self.require(name)
        if dataset.ndim != 3 or dataset.dtype.kind not in "iuf" or 0 in dataset.shape:
            raise SceneError(
                self.path,
                f"{name} must have 3 axes of real numbers, got {dataset.dtype} {dataset.shape}",
            )
        return dataset

    def datasets(self) -> dict[str, Any]:
        """Return the datasets with values in all groups, by path."""
        names: list[str] = []
        # Other than visit() this does not look up the chunks of every dataset.
        self.root.visit_links(lambda name: names.append(str(name)))
        found = {}
        for name in sorted(names):
            # Looking up a path takes time for each of its groups.
            if name.count("/") > 32:
                continue
            dataset = self.dataset(name)
            if dataset is not None and dataset.shape is not None and self.has(name):
                found[name] = dataset
        return found

    def variables(self) -> dict[str, Variable]:
        """Return the same with their dims and attributes."""
        variables = {}
        for name, dataset in self.datasets().items():
            attrs = {key: self.attribute(dataset, key) for key in dataset.attrs}
            # References by which HDF5 and the NetCDF library keep dims.
            for key in ("DIMENSION_LIST", "REFERENCE_LIST"):
                attrs.pop(key, None)
            # A variable that is named like a dim of another one.
            name = name.replace("_nc4_non_coord_", "")
            dims = self.dimensions(dataset)
            variables[name] = decoded(name, dataset, dims, dataset.dtype, attrs)
        return variables

    def other_arrays(self, used: set[str]) -> list[str]:
        """Return a note that names the arrays of three axes that are not read, if there are any."""
        others = []
        for name, dataset in self.datasets().items():
            if len(dataset.shape) == 3 and dataset.dtype.kind in "iuf" and name not in used:
                others.append(f"{name} {dataset.shape}")
        if not others:
            return []
        names = " and ".join(sorted(used))
        return [f"{names} is read; variable=… reads another array: {', '.join(others[:8])}"]

    def numbers(self, name: str) -> Array | None:
        """Return all values of a dataset such as wavelengths, unpacked if they are packed."""
        dataset = self.dataset(name)
        if dataset is None:
            return None
        return unpacked(self.path, dataset.name, np.asarray(dataset[()]), dict(dataset.attrs))

    def unit(self, name: str) -> str | None:
        """Return the unit that a dataset names."""
        return self.attribute_text(self.dataset(name), "units", "Units", "unit", "Unit")

    def text(self, name: str) -> str | None:
        """Return the text of a dataset."""
        dataset = self.dataset(name)
        if dataset is None:
            return None
        return text_of(dataset[()])

    def attribute(self, node: Any, name: str) -> Any:
        """Return an attribute of a dataset or group."""
        if name not in node.attrs:
            return None
        value = node.attrs[name]
        if isinstance(value, h5py.Empty):
            return None
        return value

    def attribute_numbers(self, node: Any, name: str) -> Array | None:
        """Return the numbers of an attribute as float64 (n,), also those of a text of numbers."""
        value = self.attribute(node, name)
        if value is None:
            return None
        return parse_numbers(self.path, value, f"the attribute {name}")

    def attribute_number(self, node: Any, name: str) -> float | None:
        """Return the number of an attribute."""
        values = self.attribute_numbers(node, name)
        if values is None:
            return None
        if values.size != 1:
            raise SceneError(
                self.path, f"the attribute {name} must be one number, it has {values.size}"
            )
        return float(values[0])

    def attribute_text(self, node: Any, *names: str) -> str | None:
        """Return the text of the first of several attributes that is not empty."""
        for name in names:
            value = self.attribute(node, name)
            if value is not None and text_of(value):
                return text_of(value)
        return None

    def is_bare_dimension(self, dataset: Any) -> bool:
        """Whether a dataset only stands for a dimension of NetCDF, and holds no values."""
        name = self.attribute_text(dataset, "NAME") or ""
        # The words of the NetCDF library, followed by the size of the dimension.
        return name.startswith("This is a netCDF dimension but not a netCDF variable")

    def dimensions(self, dataset: Any) -> tuple[str, ...]:
        """Return the names of the dims of a dataset; those without a scale are numbered."""
        # A scale is its own dim.
        if self.attribute_text(dataset, "CLASS") == "DIMENSION_SCALE" and dataset.ndim == 1:
            return (dataset.name.rpartition("/")[2],)
        names = []
        for axis, dimension in enumerate(dataset.dims):
            name = f"dim_{axis}"
            if len(dimension):
                name = str(dimension[0].name).rpartition("/")[2]
            names.append(name)
        return tuple(names)
