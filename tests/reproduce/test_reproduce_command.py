"""The command: what it writes, and how it ends."""

import csv
import json

import pytest
from reproduce.__main__ import EXPERIMENTS, main
from reproduce.outcome import Outcome, write_outcome

from reproduce import maps
from selfdict import SPA


def test_command_writes_csv_figure_and_record(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(maps, "FGNSR", SPA)  # which is quick
    main(["abundance-maps", "--quick", "-o", str(tmp_path / "out"), "--seed", "1"])
    written = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert written == ["abundance-maps.csv", "abundance-maps.json", "abundance-maps.png"]
    with (tmp_path / "out" / "abundance-maps.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 4
    assert rows[0]["scene"] == "generated r=4 noise=0.01"
    record = json.loads((tmp_path / "out" / "abundance-maps.json").read_text(encoding="utf-8"))
    assert record["seed"] == 1
    assert "share_of_zeros" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments", [["table4"], ["nonsense"], ["scenes", "--data", "/no/such/file.mat"]]
)
def test_invalid_arguments_write_nothing(arguments, tmp_path):
    with pytest.raises(SystemExit) as caught:
        main([*arguments, "-o", str(tmp_path / "out")])
    assert caught.value.code
    assert not (tmp_path / "out").exists()


def test_experiments_are_listed_without_a_name(capsys):
    main([])
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(EXPERIMENTS)


def test_numbers_are_written_with_six_digits(tmp_path):
    write_outcome(Outcome({"it": [{"a": 1.23456789, "b": None}]}), tmp_path, "it", {})
    assert (tmp_path / "it.csv").read_text() == "a,b\n1.23457,\n"
