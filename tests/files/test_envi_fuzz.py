"""Any text as an ENVI header gives a scene that fits the data file, or a SceneError of one line."""

import tempfile
from pathlib import Path

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from selfdict.files.child import Session
from selfdict.files.formats import FORMATS
from selfdict.scene import SceneError

KEYS = [
    "samples", "lines", "bands", "header offset", "data type", "interleave", "byte order",
    "file compression", "wavelength", "wavelength units", "fwhm", "bbl", "band names",
    "data ignore value", "data file", "reflectance scale factor", "map info",
    "coordinate system string", "description",
]  # fmt: skip
WORDS = st.sampled_from(
    ["0", "1", "2", "3", "4", "12", "-1", "1e9", "nan", "inf", "99999999999999999999",
     "bsq", "bil", "BIP", "cube.img", "../cube.img", "/etc/passwd", "cube.hdr", "Micrometers",
     "{", "}", "{}", "{1, 2}", "{0.4, 0.5, }", "{<b>x</b>, y}", "{a\n, b}", "=", "",
     "{UTM, 1, 1, 0, 0, 30, 30, 33, North, WGS-84}", "{UTM, 1, 1, 0, 0, 0, 0}", "{PROJCS[}"]
)  # fmt: skip
VALUES = WORDS | st.text(max_size=20) | st.integers(-5, 5).map(str) | st.floats().map(str)
FIELDS = st.lists(st.tuples(st.sampled_from(KEYS) | st.text(max_size=8), VALUES), max_size=12)
START = (
    st.just("ENVI\nsamples = 2\nlines = 3\nbands = 2\ndata type = 1\n")
    | st.just("ENVI\n")
    | st.text(max_size=6)
)


def check(header: bytes) -> None:
    data = np.arange(1, 13, dtype=np.uint8).tobytes()
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "cube.img").write_bytes(data)
        Path(folder, "cube.hdr").write_bytes(header)
        session = Session()
        message = None
        # In this process, since there are hundreds of them.
        try:
            session.ask(
                {
                    "path": Path(folder, "cube.hdr"),
                    "format": [FORMATS["envi"].title, FORMATS["envi"].module],
                    "options": {},
                    "held": len(header),
                    "max_bytes": None,
                }
            )
        except SceneError as error:
            message = str(error)
        if session.cube is None:
            assert message.startswith(folder)
            assert len(message.splitlines()) == 1
        else:
            shape = session.cube.shape
            assert np.prod(shape) * session.cube.dtype.itemsize <= max(12, len(header))
            assert session.ask({"ranges": [[0, size] for size in shape]}).shape == shape


@given(START, FIELDS)
@example("ENVI\nsamples = 2\nlines = 3\nbands = 2\ndata type = 1\n", [])
def test_fields(start, fields):
    check(
        (start + "".join(f"{key} = {value}\n" for key, value in fields)).encode(
            "utf-8", "surrogatepass"
        )
    )


@given(st.binary(max_size=200))
def test_bytes(data):
    check(b"ENVI\n" + data)
