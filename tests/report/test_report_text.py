"""The text of the report is that of a golden file, and its numbers are the right ones.

``python -m pytest tests/report/test_report_text.py --renew-golden`` writes the file anew: read the
difference before you commit it.
"""

import html
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
from report_sample import (
    make_comparison,
    make_pixel_result,
    make_proof,
    make_result,
    make_solution,
)

from selfdict.report import render_report
from selfdict.report.words import statements
from selfdict.scene import Identification, Match, SceneCheck
from selfdict.scene.identification import Candidate

GOLDEN = Path(__file__).parent / "golden" / "report.txt"
BLOCKS = "h1|h2|h3|p|div|dt|dd|li|tr|caption|figcaption|section|a|button|title"


def text_of(page: str) -> str:
    """Return what a reader sees or hears: a line for each block, and the labels of pictures."""
    body = page.split("</style>")[1].split('<script type="application/json"')[0]
    body = re.sub(r'<[^>]* (?:alt|aria-label)="([^"]*)"[^>]*>', r"\n[\1]\n", body)
    body = re.sub(rf"</?(?:{BLOCKS})\b[^>]*>", "\n", body)
    body = html.unescape(re.sub(r"<[^>]*>", " ", body)).replace("\u00a0", " ")
    lines = [" ".join(line.split()) for line in body.splitlines()]
    return "\n".join(line for line in lines if line)


def averages():
    check = SceneCheck(2.0, 1.9875, 0.00625)
    coordinates = np.array([[5e5, 4.1e6], [500010.0, 4.1e6], [5e5, 4100010.0]])
    return make_result(check=check, coordinates=coordinates, crs="EPSG:32611")


def named():
    result = make_result(proof=make_proof([0.3, 0.0, 0.0], enough=np.inf, complete=False))
    nearest = (
        Candidate("Kaolinite", "Kaolinite CM9", 3.25),
        Candidate("Dickite", "Dickite NMNH106242", 12.5),
    )
    far = tuple(replace(candidate, angle=candidate.angle + 40) for candidate in nearest)
    curve = result.endmembers.values[0] * 1.01
    matches = (
        Match("Kaolinite", nearest, curve),
        Match(None, far, curve),
        Match("Kaolinite", nearest, curve),
    )
    return replace(result, identification=Identification(matches, np.ones(40, dtype=bool), ()))


def library():
    result = make_result(
        parameters={"endmembers": "pixels", "candidates": None, "abundances": "unit"},
        atoms=np.array([4, 0, 17]),
        groups=None,
        counts=None,
        spread=None,
        brightness=None,
        pixel_error=None,
    )
    names = ("endmember", ["clay", "lime", "sand"])
    return replace(result, endmembers=result.endmembers.assign_coords(name=names))


def sample():
    reason = "They are a random sample."
    return make_result(
        parameters={"candidates": None, "candidates_reason": reason, "abundances": "fcls"},
        proof=make_proof([0.0, 0.0, 0.0]),
        solution=make_solution(dual_bound=11.0),
        uncertainty=None,
        brightness=None,
    )


def all_pixels():
    return make_result(
        r=1,
        parameters={"candidates": None, "abundances": "nnls"},
        solution=make_solution(540),
        proof=make_proof([0.1], 540, limit=0.029996),
    )


def late():
    return make_result(
        solution=make_solution(dual_bound=-np.inf),
        proof=None,
        counts=np.ones(3, dtype=int),
        skipped=("the proof",),
    )


CASES = {
    "averages, shares, a proof, a check and a comparison": averages,
    "looked up in a library, not everything proven": named,
    "chosen from a library": library,
    "a sample of the pixels, a large gap": sample,
    "all pixels, one material, coefficients": all_pixels,
    "no time for averages, nothing proven": late,
    "pure pixels of SPA": make_pixel_result,
}


def report_text(make) -> str:
    result = make()
    options = {}
    if make is averages:
        result = replace(result, comparison=make_comparison())
        options = {"command": "selfdict unmix cube.hdr -r 3"}
    page = render_report(result, title="cube.hdr", parameters={"Seed": 0}, **options)
    # the version changes with every release
    return re.sub(r"(?<=Made with selfdict )\S+\.\d+", "VERSION", text_of(page))


def test_the_text_is_that_of_the_golden_file(request):
    parts = [f"=== {name}\n{report_text(make)}\n" for name, make in CASES.items()]
    text = "\n".join(parts)
    if request.config.getoption("--renew-golden"):
        GOLDEN.write_text(text, encoding="utf-8")
    assert text.splitlines() == GOLDEN.read_text(encoding="utf-8").splitlines()


def values(result):
    return {statement.name: statement.text for statement in statements(result)}


def test_bounds_are_rounded_to_the_safe_side():
    assert values(make_result(check=SceneCheck(2.0, 1.9875, 0.00625))) == {
        "Sufficient": "within 1.4 %",
        "Necessary": "3 of 3",
        "Weights": "within 0.004 %",
        "All pixels": "within 0.63 %",
    }
    # the limit is one for the candidates, and for the scene only if all pixels are candidates
    assert values(all_pixels())["Lower bound on the error"] == "2.9 %"


def test_what_is_not_proven_is_not_claimed():
    proof = make_proof([0.02, 0.0, 0.0], enough=np.inf)
    unbounded = make_result(
        proof=proof,
        check=SceneCheck(2.0, -np.inf, np.inf),
        solution=make_solution(dual_bound=-np.inf),
    )
    assert values(unbounded) == {
        "Sufficient?": "not proven",
        "Necessary": "1 of 3",
        "Weights": "not proven",
        "All pixels": "not proven",
    }
    twice_as_bad = make_result(proof=make_proof([0.0] * 3, enough=1.5))
    assert values(twice_as_bad)["Sufficient?"] == "within 150 %"
    assert values(twice_as_bad)["Necessary?"] == "0 of 3"
    assert values(make_pixel_result()) == {}
