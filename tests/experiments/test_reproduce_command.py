"""The command: what it writes, and how it ends."""

import csv
import json

import pytest
import typer
from typer.testing import CliRunner

from selfdict import SPA
from selfdict.cli.reproduce import reproduce
from selfdict.experiments import EXPERIMENTS, Outcome, maps, write_outcome

app = typer.Typer(pretty_exceptions_enable=False)
app.command()(reproduce)


def test_it_writes_csv_figure_and_record(tmp_path, monkeypatch):
    monkeypatch.setattr(maps, "FGNSR", SPA)  # which is quick
    result = CliRunner().invoke(
        app, ["abundance-maps", "--quick", "-o", str(tmp_path / "out"), "--seed", "1"]
    )
    assert result.exit_code == 0, result.output
    written = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert written == ["abundance-maps.csv", "abundance-maps.json", "abundance-maps.png"]
    with (tmp_path / "out" / "abundance-maps.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 4
    assert rows[0]["scene"] == "generated r=4 noise=0.01"
    assert (
        json.loads((tmp_path / "out" / "abundance-maps.json").read_text(encoding="utf-8"))["seed"]
        == 1
    )
    assert "share_of_zeros" in result.output


@pytest.mark.parametrize(
    "arguments", [["table4"], ["nonsense"], ["scenes", "--data", "/no/such/file.mat"]]
)
def test_bad_use_is_one_sentence_and_exit_code_2(arguments, tmp_path):
    result = CliRunner().invoke(app, [*arguments, "-o", str(tmp_path / "out")])
    assert result.exit_code == 2
    assert result.output.startswith("error: ")
    assert result.output.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_help_names_every_experiment():
    text = CliRunner().invoke(app, ["--help"], env={"COLUMNS": "200"}).output
    assert all(name in text for name in EXPERIMENTS)


def test_a_failure_while_writing_leaves_the_older_files(tmp_path):
    old = Outcome({"it": [{"a": 1.23456789, "b": None}]})
    write_outcome(old, tmp_path, "it", {})
    assert (tmp_path / "it.csv").read_text() == "a,b\n1.23457,\n"

    class Broken:
        def savefig(self, *args, **kwargs):
            raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        write_outcome(Outcome({"it": [{"a": 2.0, "b": 3}]}, {"it": Broken()}), tmp_path, "it", {})
    assert (tmp_path / "it.csv").read_text() == "a,b\n1.23457,\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["it.csv", "it.json"]
