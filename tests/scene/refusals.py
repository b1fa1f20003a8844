"""What the command says about a file that it refuses."""

from typer.testing import CliRunner

from selfdict.cli.app import app


def refusal(path):
    """Return the error of the command about a file; it must be one line and exit code 2."""
    result = CliRunner().invoke(app, ["info", str(path)])
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    return line
