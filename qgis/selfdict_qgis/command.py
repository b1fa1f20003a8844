"""Running a command: its lines as they come, its progress, and its end when the user cancels."""

import json
import os
import queue
import signal
import subprocess
import threading

# Variables by which QGIS finds its own libraries and data: other versions of these are in the
# environment of the command.
_OF_QGIS = (
    *("PYTHONHOME", "PYTHONPATH", "PYTHONEXECUTABLE", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH"),
    *("GDAL_DATA", "GDAL_DRIVER_PATH", "PROJ_LIB", "PROJ_DATA"),
)
# Where each step of the command begins on the bar, and how much of it the step takes, in percent.
_STEPS = {
    "preflight": ("Looking at the bands", 0, 10),
    "read": ("Reading", 10, 10),
    "rank": ("Counting materials", 20, 20),
    "select": ("Choosing pure pixels", 40, 30),
    "abundances": ("Mapping shares", 70, 25),
}


class CommandError(Exception):
    """The command failed, for the reason that the message gives."""


class CancelledError(Exception):
    """The user cancelled, and the command has ended."""


def run(words, feedback, *, folder=None, show=None):
    """Run a command in ``folder`` and return its standard output.

    Lines of progress move the bar of ``feedback``. All others go to ``show``, by default those of
    the log. If the user cancels, the command and its children are killed.
    """
    show = show or feedback.pushConsoleInfo
    process = _start(words, folder)
    lines = queue.Queue()
    for stream in (process.stdout, process.stderr):
        threading.Thread(target=_read, args=(stream, lines), daemon=True).start()
    output = []
    errors = []
    n_open = 2
    try:
        while n_open > 0:
            if feedback.isCanceled():
                raise CancelledError
            try:
                stream, line = lines.get(timeout=0.2)
            except queue.Empty:
                continue
            if line is None:
                n_open -= 1
            elif stream is process.stdout:
                output.append(line)
                show(line)
            elif line.startswith("warning: "):
                feedback.pushWarning(line)
            elif not _show_progress(line, feedback):
                errors.append(line)
                feedback.pushConsoleInfo(line)
        process.wait()
    finally:
        _kill(process)
    if process.returncode != 0:
        raise CommandError(_reason(errors, process.returncode))
    return "\n".join(output)


def _start(words, folder):
    environment = {name: value for name, value in os.environ.items() if name not in _OF_QGIS}
    environment.update(PYTHONUTF8="1", PYTHONUNBUFFERED="1")
    # A group of its own, so that it can be ended with its children.
    apart = {"start_new_session": True}
    if os.name == "nt":
        apart = {"creationflags": subprocess.CREATE_NO_WINDOW}
    return subprocess.Popen(
        words,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        errors="replace",
        **apart,
    )


def _read(stream, lines):
    """Put the lines of a stream into a queue, and None at its end."""
    with stream:
        for line in stream:
            lines.put((stream, line.rstrip()))
    lines.put((stream, None))


def _kill(process):
    """End a process, if it still runs, with its children."""
    if process.poll() is not None:
        return
    if os.name == "nt":
        words = ["taskkill", "/F", "/T", "/PID", str(process.pid)]
        subprocess.run(words, capture_output=True, check=False)
    else:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _show_progress(line, feedback):
    """Show a line of progress, and return whether it is one."""
    try:
        values = json.loads(line)
        name, begin, span = _STEPS[values["step"]]
    except (ValueError, LookupError, TypeError):
        return False
    if "gap" in values:
        name += f": {values['pixels']} pixels"
        # It is 1 until there is a bound.
        if values["gap"] is not None and values["gap"] < 1:
            name += f", certified gap {100 * values['gap']:.3g} %"
    feedback.setProgressText(name)
    feedback.setProgress(begin + span * values.get("share", 0))
    return True


def _reason(errors, code):
    """Return why a command failed: its line of the error, else its last words."""
    for line in errors:
        if line.startswith("error: "):
            return line[len("error: ") :]
    last = "\n".join(errors[-5:])
    return f"The command ended with code {code}.\n{last}"
