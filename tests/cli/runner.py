"""Commands that run in this process."""

from click.testing import CliRunner, Result

from selfdict.cli.app import app


def run(*words: object) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])
