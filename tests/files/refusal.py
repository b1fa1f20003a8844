"""What a file that cannot be used must give, whatever is wrong with it."""

import pytest

from selfdict.scene import SceneError, read_scene


def refused(path, read=read_scene, **options):
    """Assert that a file gets an error of one line, without what other files hold; return it."""
    with pytest.raises(SceneError) as caught:
        read(path, **options)
    message = str(caught.value)
    assert "\n" not in message
    assert "root:" not in message  # a line of /etc/passwd
    return message
