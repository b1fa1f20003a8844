"""What files must give: an error of one line, or notes on what was assumed."""

import subprocess
import sys

import pytest

from selfdict.scene import SceneError, read_scene
from selfdict.scene.metadata import notes_of


def refused(path, read=read_scene, **options):
    """Assert that a file gets an error of one line, without what other files hold; return it."""
    with pytest.raises(SceneError) as caught:
        read(path, **options)
    message = str(caught.value)
    assert "\n" not in message
    assert "root:" not in message  # a line of /etc/passwd
    return message


def noted(scene):
    """Return all notes as one text."""
    return "; ".join(notes_of(scene))


def run(code, *arguments):
    """Run Python code with arguments; return what it prints to standard output and error."""
    words = [sys.executable, "-c", code, *map(str, arguments)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=200)
    return done.stdout.strip(), done.stderr
