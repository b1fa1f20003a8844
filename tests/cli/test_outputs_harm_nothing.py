"""Whatever lies where outputs go, and whenever a process is killed, the user's files stay."""

import json
import os
import random
import signal
from pathlib import Path

import numpy as np
import pytest

from cli.runner import run
from selfdict.cli.run import output_folder
from selfdict.datasets import make_scene
from selfdict.scene import SceneError, write_scene, write_spectra
from selfdict.scene.write import check_free, staged

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="kills forks of this process")

OUTPUTS = ["run.json", "abundances.hdr", "abundances.img", "endmembers.csv", "residual.zarr"]
MOMENTS = 30  # more than there are steps


def write_store(path, text):
    (path / "residual").mkdir(parents=True)
    (path / ".zgroup").write_text("{}")
    (path / "residual" / ".zarray").write_text(text)
    (path / "residual" / "0.0").write_text(text)


def write_output(path, text):
    if path.suffix == ".zarr":
        write_store(path, text)
    else:
        path.write_text(text)


def snapshot(root):
    """Return every path below a folder with its bytes, or where it leads."""
    found = {}
    for folder, folders, names in os.walk(root):
        for name in (*folders, *names):
            path = Path(folder, name)
            if path.is_symlink():
                found[path] = os.readlink(path)
            elif path.is_file():
                found[path] = path.read_bytes()
    return found


class Layout:
    """A folder with inputs, other files of the user, and what may stand where outputs go."""

    def __init__(self, root, chance):
        self.root = root
        self.out = root / "out"
        user = root / "user"
        user.mkdir()
        for name in ("cube.hdr", "cube.img", "thesis.tex", "endmembers.csv"):
            (user / name).write_text(f"my {name}")
        write_store(user / "cube.zarr", "my store")
        self.inputs = [user / "cube.hdr", user / "cube.img", user / "cube.zarr"]
        self.ours = set()  # what may be replaced
        # As an earlier process might leave them, or somebody who wants files to be moved.
        for name in (".out.x.selfdict-part", ".selfdict-x", ".abundances.hdr.x.selfdict-part"):
            if chance.random() < 0.5:
                (root / name / "old").mkdir(parents=True)
                (root / name / "new").symlink_to(user, target_is_directory=True)
        self._fill(chance, user)
        # The same folder by another name.
        (root / "link").symlink_to(user, target_is_directory=True)
        spellings = [self.out, root / "user" / ".." / "out", root / "link" / ".." / "out"]
        self.target = chance.choice(spellings)
        if chance.random() < 0.3:
            os.link(self.inputs[0], root / "same.hdr")
            self.inputs[0] = root / "same.hdr"
        self.before = snapshot(root)

    def _fill(self, chance, user):
        """Make the output folder: nothing, a link, outputs of an earlier run, or a mixture."""
        kind = chance.choice(["nothing", "link", "outputs", "outputs", "mixture", "mixture"])
        if kind == "nothing":
            return
        if kind == "link":
            self.out.symlink_to(user, target_is_directory=True)
            return
        self.out.mkdir()
        names = chance.sample(OUTPUTS, chance.randrange(1, len(OUTPUTS) + 1))
        for name in names:
            write_output(self.out / name, f"old {name}")
        if "run.json" in names:
            (self.out / "run.json").write_text(json.dumps({"selfdict": "1", "files": names}))
            self.ours = {self.out / name for name in names}
        if kind == "mixture":
            for _ in range(chance.randrange(1, 4)):
                self._add(chance, user)

    def _add(self, chance, user):
        """Add something that is the user's, in the place of an output if there is one."""
        name = chance.choice(OUTPUTS[1:])
        path = self.out / name
        what = chance.choice(["file", "link", "folder", "hard link", "record", "input", "store"])
        if what == "file":
            (self.out / "thesis.tex").write_text("years of work")
        elif what == "record" and not (self.out / "run.json").exists():
            files = ["../user/thesis.tex", str(user / "thesis.tex"), "thesis.tex", ["x"], None]
            (self.out / "run.json").write_text(json.dumps({"selfdict": "1", "files": files}))
        elif what == "input" and path.is_file():
            self.inputs.append(path)
            self.ours.discard(path)
        elif what == "store" and (self.out / "residual.zarr").is_dir():
            (self.out / "residual.zarr" / "notes.txt").write_text("mine")
            self.ours.discard(self.out / "residual.zarr")
        elif not os.path.lexists(path):
            if what == "link":
                path.symlink_to(chance.choice([user, user / "thesis.tex", user / "nowhere"]))
            elif what == "folder":
                path.mkdir()
                (path / "notes.txt").write_text("mine")
            elif what == "hard link":
                os.link(user / "cube.img", path)

    def replaceable(self, targets):
        """Return what of the snapshot may be replaced: outputs, and what is asked for by name."""
        found = {}
        for target in {*self.ours, *targets}:
            parts = [path for path in self.before if path == target or target in path.parents]
            if not any(self._is_protected(path) for path in parts):
                found |= {path: self.before[path] for path in parts}
        return found

    def _is_protected(self, path):
        if path.is_symlink() or path.name == "notes.txt":
            return True
        return any(path.samefile(file) for file in self.inputs)


def write_folder(layout):
    with output_folder(layout.target, force=True, inputs=layout.inputs) as folder:
        for name in OUTPUTS:
            write_output(folder / name, f"new {name}")
        (folder / "run.json").write_text(json.dumps({"selfdict": "2", "files": OUTPUTS}))


def write_pair(layout):
    files = [layout.out / "abundances.hdr", layout.out / "abundances.img"]
    check_free(files, overwrite=True, inputs=layout.inputs)
    with staged(*files, overwrite=True) as path:
        path.write_text("new abundances.hdr")
        path.with_suffix(".img").write_text("new abundances.img")


def write_zarr(layout):
    path = layout.out / "residual.zarr"
    check_free([path], overwrite=True, inputs=layout.inputs)
    with staged(path, overwrite=True) as temporary:
        write_store(temporary, "new residual.zarr")


def in_a_fork(write, layout, moment):
    """Write in a fork that is killed before one of the steps of the file system."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    steps = []

    def dying(step):
        def run(*arguments, **options):
            if len(steps) == moment:
                os.kill(os.getpid(), signal.SIGKILL)
            steps.append(step)
            return step(*arguments, **options)

        return run

    for name in ("rename", "replace", "mkdir", "rmdir", "unlink"):
        setattr(os, name, dying(getattr(os, name)))
    try:
        write(layout)
    except SceneError:
        os._exit(2)
    except BaseException:
        os._exit(1)
    os._exit(0)


# By writer: the targets that are named, and the file that says that the output is complete.
WRITERS = {
    write_folder: ([], "run.json"),
    write_pair: (["abundances.hdr", "abundances.img"], "abundances.hdr"),
    write_zarr: (["residual.zarr"], "residual.zarr/residual/.zarray"),
}


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of forks in later versions of Python
@pytest.mark.parametrize("write", WRITERS)
def test_random_layouts(tmp_path, write):
    names, last = WRITERS[write]
    outcomes = set()
    for seed in range(70):
        chance = random.Random(seed)
        root = tmp_path / str(seed)
        root.mkdir()
        layout = Layout(root, chance)
        out = layout.out.resolve()
        old = layout.replaceable([out / name for name in names])
        moment = chance.choice([MOMENTS, chance.randrange(MOMENTS)])
        code = in_a_fork(write, layout, moment)
        outcomes.add(code)
        after = snapshot(root)
        if code == 2:
            assert after == layout.before, seed
            continue
        assert code in (0, -signal.SIGKILL), seed
        for path, contents in layout.before.items():
            assert path in old or after.get(path) == contents, (seed, path)
        record = after.get(out / last)
        if code == 0 or (record is not None and record != layout.before.get(out / last)):
            for name in names or OUTPUTS:
                path = out / name
                text = after.get(path, after.get(path / "residual" / "0.0"))
                assert text.startswith((b"new", b'{"selfdict": "2"')), (seed, name)
        elif record is not None:
            # The old output is complete.
            assert old.items() <= after.items(), seed
        else:
            # What was moved away lies in the temporary folder.
            assert set(old.values()) <= set(after.values()), seed
        if code == 0:
            added = {path for path in after if out not in path.parents}
            assert added <= layout.before.keys(), seed
        else:
            # What a killed process leaves does not keep the next one from writing.
            assert in_a_fork(write, layout, 1000) == 0, seed
            assert not (out / ".selfdict-unfinished.json").exists(), seed
    assert outcomes == {0, 2, -signal.SIGKILL}


QUICK = ["-r", "3", "--method", "spa", "--no-compare", "--no-uncertainty", "--force"]


@pytest.fixture
def inputs(tmp_path):
    """A folder with a scene, a mask and a library."""
    truth = make_scene(shape=(10, 12), n_bands=30, n_endmembers=3, random_state=0)
    folder = tmp_path / "d"
    folder.mkdir()
    write_scene(truth.scene, folder / "scene.hdr")
    np.save(folder / "mask.npy", np.zeros((10, 12, 1)))
    library = truth.scene.stack(endmember=("y", "x")).transpose("endmember", "band")[:5]
    library = library.drop_vars(["endmember", "y", "x"])
    write_spectra(library, folder / "library.sli")
    return folder


def refused(root, *arguments):
    """Run a command that must be refused, and check that it changes nothing."""
    before = snapshot(root)
    result = run(*arguments)
    assert result.exit_code == 2, result.output
    assert snapshot(root) == before
    return result.stderr


def test_an_input_in_the_output_folder(inputs, tmp_path):
    scene = inputs / "scene.hdr"
    refused(tmp_path, "unmix", scene, *QUICK, "-o", inputs)
    # The same folder by other names.
    (tmp_path / "link").symlink_to(inputs, target_is_directory=True)
    refused(tmp_path, "unmix", scene, *QUICK, "-o", tmp_path / "link")
    refused(tmp_path, "unmix", scene, *QUICK, "-o", inputs / ".." / "d")


def test_outputs_of_an_earlier_run_as_inputs(inputs, tmp_path):
    scene, out = inputs / "scene.hdr", tmp_path / "out"
    assert run("unmix", scene, *QUICK, "-o", out).exit_code == 0
    for words in (
        [scene, *QUICK, "--names", out / "endmembers.csv"],
        [scene, *QUICK, "--names", out / "endmembers.hdr"],
        [scene, *QUICK, "--mask", out / "residual.hdr"],
        [out / "abundances.img", *QUICK],
    ):
        assert "is an input" in refused(tmp_path, "unmix", *words, "-o", out)
    # A hard link is the same file.
    os.link(out / "abundances.img", inputs / "same.img")
    os.link(out / "abundances.hdr", inputs / "same.hdr")
    assert "is an input" in refused(tmp_path, "unmix", inputs / "same.hdr", *QUICK, "-o", out)
    assert run("unmix", scene, *QUICK, "-o", out).exit_code == 0


def test_convert_replaces_no_input(inputs, tmp_path):
    scene = inputs / "scene.hdr"
    # The other file of a pair is an input, too.
    os.link(inputs / "scene.img", inputs / "other.img")
    (inputs / "link.tif").symlink_to(inputs / "scene.img")
    for target in ("scene.hdr", "scene.img", "other.hdr", "link.tif", "../d/scene.hdr"):
        refused(tmp_path, "convert", scene, inputs / target, "--force")
    mask = inputs / "mask.npy"
    words = ["--mask", mask, "--format", "geotiff", "--force"]
    assert "is an input" in refused(tmp_path, "convert", scene, mask, *words)
    store = inputs / "scene.zarr"
    assert run("convert", scene, store).exit_code == 0
    assert "is an input" in refused(tmp_path, "convert", store, store, "--force")
    assert "--force" in refused(tmp_path, "convert", scene, store)
    assert run("convert", scene, store, "--force").exit_code == 0
    # A folder that is no store, even with --force.
    refused(tmp_path, "convert", scene, inputs, "--format", "geotiff", "--force")


def test_a_figure_replaces_no_input(inputs, tmp_path):
    library, figure = inputs / "library.sli", inputs / "figure.png"
    figure.symlink_to(library)
    words = ["identify", library, "--library", library, "--figure", figure]
    refused(tmp_path, *words)
    refused(tmp_path, *words, "--force")
    figure.unlink()
    figure.write_text("mine")
    assert "--force" in refused(tmp_path, *words)
    assert run(*words, "--force").exit_code == 0
    assert figure.read_bytes()[:4] == b"\x89PNG"


def test_an_error_names_the_place_that_the_user_gave(tmp_path):
    with pytest.raises(SceneError) as caught, output_folder(tmp_path / "result") as folder:
        raise SceneError(folder / "maps" / "a.tif", "cannot be written")
    assert caught.value.path == str(tmp_path / "result" / "maps" / "a.tif")
    assert list(tmp_path.iterdir()) == []
