"""The report as a reader meets it: in a real browser, with mouse, keyboard, phone and printer."""

from dataclasses import replace

import numpy as np
import pytest
from report_sample import make_comparison, make_pixel_result, make_result

from selfdict.datasets import make_scene
from selfdict.report import write_report
from selfdict.report.charts import band_labels
from selfdict.scene import unmix
from selfdict.scene.facts import Fit, Patch

pytestmark = pytest.mark.browser
HOSTILE = (
    "</script></style><script>window.hacked = 1</script>"
    "<img src=http://evil.test/x onerror='hacked=1'>\"'&{{7*7}}"
)


class Visit:
    """An open report and everything it did that it should not have done."""

    def __init__(self, browser, path, width, height, **settings):
        self.page = browser.new_page(viewport={"width": width, "height": height}, **settings)
        self.faults = []
        self.page.on("console", lambda message: self.faults.append(f"console: {message.text}"))
        self.page.on("pageerror", lambda error: self.faults.append(f"error: {error}"))
        self.page.on("dialog", lambda dialog: self.faults.append("dialog"))
        self.page.on("request", self._on_request)
        self.path = path
        self.page.goto(path.as_uri())

    def _on_request(self, request):
        if not request.url.startswith("data:") and request.url != self.path.as_uri():
            self.faults.append(f"request: {request.url}")


@pytest.fixture
def visit(browser, tmp_path):
    visits = []

    def open_report(result, width=1280, height=900, touch=False, **options):
        path = write_report(result, tmp_path / "report.html", **options)
        visits.append(Visit(browser, path, width, height, has_touch=touch, is_mobile=touch))
        return visits[-1].page

    yield open_report
    for opened in visits:
        assert opened.faults == []
        opened.page.close()


def test_everything_is_visible(visit):
    page = visit(make_result(comparison=make_comparison()), title="cube.hdr")
    assert page.title() == "cube.hdr · unmixing report"
    assert page.locator("path.line").count() == 3
    for line in page.locator("path.line").all():
        box = line.bounding_box()
        assert box["width"] > 400
        assert box["height"] > 50
    images = page.locator("img").all()
    # three abundance maps, the dominant material, uncertainty, brightness and residual
    assert len(images) == 7
    for image in images:
        assert image.is_visible()
        assert image.evaluate(
            "image => [image.complete, image.naturalWidth, image.naturalHeight]"
        ) == [True, 30, 20]
    assert page.locator("#scene svg.image .mark").count() == 3
    assert "0.004\u00a0%" in page.locator("#proven").inner_text()


def test_hover_reads_the_nearest_band(visit):
    result = make_pixel_result()
    page = visit(result)
    plot = page.locator("#plot")
    plot.scroll_into_view_if_needed()
    box = plot.bounding_box()
    band = 17
    plot.hover(position={"x": box["width"] * band / 39 + 2, "y": 40})
    assert page.locator("#readout").inner_text() == band_labels(result.endmembers)[band]
    values = page.locator(".legend .value").all_inner_texts()
    assert [float(v) for v in values] == pytest.approx(result.endmembers.values[:, band], rel=1e-3)
    # the dots lie on the lines: at the height of their value between the lowest and the highest
    # tick
    dots = [dot.bounding_box() for dot in page.locator(".dot").all()]
    heights = [
        (box["y"] + box["height"] - (dot["y"] + dot["height"] / 2)) / box["height"] for dot in dots
    ]
    assert heights == pytest.approx(result.endmembers.values[:, band], abs=0.01)
    page.mouse.move(5, 5)
    assert page.locator("#readout").inner_text() == "No band chosen"


def test_keyboard_alone_reads_and_toggles(visit):
    result = make_pixel_result()
    page = visit(result)
    page.locator("#plot").focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowRight", "ArrowLeft"):
        page.keyboard.press(key)
    assert page.locator("#readout").inner_text() == band_labels(result.endmembers)[1]
    page.keyboard.press("End")
    assert page.locator("#plot").get_attribute("aria-valuenow") == "40"
    assert band_labels(result.endmembers)[-1] in page.locator("#plot").get_attribute(
        "aria-valuetext"
    )
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    first = page.locator(".legend button").first
    assert first.get_attribute("aria-pressed") == "false"
    assert not page.locator("path.line").first.is_visible()
    assert first.locator(".value").inner_text() == ""
    page.keyboard.press("Space")
    assert page.locator("path.line").first.is_visible()


def test_groups_are_shown_with_their_spread(visit):
    result = make_result()
    page = visit(result)
    assert page.locator(".statements > div").count() == 3
    assert page.locator("path.spread:visible").count() == 3
    page.locator("#plot").focus()
    page.keyboard.press("Home")
    value, spread = page.locator(".legend .value").first.inner_text().split(" ± ")
    assert float(value) == pytest.approx(result.endmembers.values[0, 0], rel=1e-2)
    assert float(spread) == pytest.approx(result.spread.values[0, 0], rel=2e-2)
    page.locator(".legend button").first.click()
    assert page.locator("path.spread:visible").count() == 2
    squares = page.locator(".key .square")
    assert squares.count() == 3
    colour = squares.first.evaluate("square => getComputedStyle(square).backgroundColor")
    assert colour == "rgb(0, 114, 178)"


def brightness(page, selector, kind):
    """Return how bright a colour of an element is, from 0 to 1."""
    script = f"element => getComputedStyle(element).{kind}"
    numbers = page.locator(selector).first.evaluate(script).strip("rgba()").split(",")
    return sum(float(number) for number in numbers[:3]) / 3 / 255


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_in_both_schemes(visit, scheme):
    page = visit(make_result(r=7))
    page.emulate_media(color_scheme=scheme)
    ground = brightness(page, "section", "backgroundColor")
    assert (ground > 0.8) == (scheme == "light")
    for selector in ("section p", ".note", "td", ".statements .value", "h1"):
        assert abs(brightness(page, selector, "color") - ground) > 0.35
    # lines have their colours in both: what is behind them is light
    behind = brightness(page, ".plot", "backgroundColor")
    for k in range(7):
        line = f'path.line[data-k="{k}"]'
        assert abs(brightness(page, line, "stroke") - behind) > 0.2
    # paper is white, whatever the screen is like
    page.emulate_media(media="print", color_scheme=scheme)
    assert brightness(page, "body", "backgroundColor") == 1


@pytest.mark.parametrize("r", [1, 12])
def test_phone_needs_no_sideways_scrolling(visit, r):
    page = visit(
        make_result(r=r), title="a_very_long_name_without_any_space_" * 4, width=360, height=740
    )
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    for image in page.locator("img").all():
        assert image.bounding_box()["width"] > 100


def test_print_keeps_the_figures_and_drops_the_controls(visit):
    page = visit(make_result())
    page.emulate_media(media="print")
    assert page.locator(".statements").is_visible()
    assert page.locator("nav").is_hidden()
    assert page.locator("#all").is_hidden()
    assert page.locator("path.line").first.is_visible()
    assert page.locator("img").first.is_visible()


def test_names_are_data(visit):
    # Longer names of bands are not shown.
    band = "</script><img src=x onerror=hacked=1>"
    bands = {"band_name": ("band", [band] * 40)}
    rows = (replace(make_comparison()[0], method=HOSTILE),)
    result = make_result(crs=HOSTILE, notes=(HOSTILE,), comparison=rows)
    result = replace(
        result,
        endmembers=result.endmembers.assign_coords(bands),
        scene=result.scene.assign_coords(bands),
    )
    page = visit(
        result,
        title=HOSTILE,
        parameters={HOSTILE: HOSTILE},
        command=HOSTILE,
    )
    assert page.evaluate("typeof window.hacked") == "undefined"
    assert page.locator("h1").inner_text() == HOSTILE
    page.locator("#plot").focus()
    page.keyboard.press("Home")
    assert page.locator("#readout").inner_text().startswith(band)
    assert page.locator("script").count() == 2


def chosen(page):
    """Return the numbers that the page shows of the chosen pixel."""
    amounts = page.locator("#amounts td.num").all_inner_texts()
    shares = [float(text.split(" %")[0]) / 100 for text in amounts]
    errors = [float(text.split("± ")[1]) / 100 for text in amounts]
    return shares, errors


@pytest.fixture(scope="module")
def mixture():
    """What was found in a scene whose pixels are mixtures with a little noise."""
    truth = make_scene(shape=(24, 30), n_bands=50, n_endmembers=3, n_outliers=0, random_state=0)
    return unmix(truth.scene, 3, random_state=0)


@pytest.mark.parametrize("which", ["svg.image", "#dominant img", ".maps img", "#residual img"])
def test_a_click_on_any_map_shows_the_pixel(visit, mixture, which):
    page = visit(mixture)
    image = page.locator(which).first
    image.scroll_into_view_if_needed()
    box = image.bounding_box()
    row, column = 11, 19
    image.click(
        position={"x": box["width"] * (column + 0.5) / 30, "y": box["height"] * (row + 0.5) / 24}
    )
    assert page.locator("#place").inner_text() == f"Row {row}, column {column}"
    shares, errors = chosen(page)
    assert shares == pytest.approx(mixture.abundances.values[:, row, column], abs=0.02)
    assert errors == pytest.approx(mixture.uncertainty.values[:, row, column], abs=0.02)
    # the cursor is at the same place on all maps
    places = {
        cross.evaluate("c => c.style.left + c.style.top") for cross in page.locator(".cross").all()
    }
    assert len(places) == 1
    assert page.locator(".cross:visible").count() == page.locator(".frame").count()
    # the spectrum, from the path that is drawn: its part in 3 + 8 directions
    numbers = page.locator("#spectrum .own").get_attribute("d").replace("M", "L").split("L")[1:]
    heights = 100 - np.array([float(point.split()[1]) for point in numbers])
    bands = mixture.endmembers["band_number"].values - 1
    spectrum = mixture.scene.values[bands, row, column]
    assert heights == pytest.approx(100 * spectrum / spectrum.max(), abs=4)


def test_the_keyboard_chooses_moves_zooms_and_closes(visit, mixture):
    page = visit(mixture)
    page.locator("#dominant .frame").focus()
    page.keyboard.press("Enter")
    assert page.locator("#place").inner_text() == "Row 12, column 15"
    for key in ("ArrowUp", "ArrowUp", "ArrowRight", "+"):
        page.keyboard.press(key)
    assert page.locator("#place").inner_text() == "Row 10, column 16"
    wide = page.locator("#residual img").evaluate("image => image.getBoundingClientRect().width")
    frame = page.locator("#residual .frame").bounding_box()["width"]
    assert wide == pytest.approx(2 * frame, rel=0.01)
    page.keyboard.press("Escape")
    assert page.locator("#pixel").is_hidden()
    assert page.locator(".cross:visible").count() == 0


def test_taps_choose_zoom_and_close(visit, mixture):
    page = visit(mixture, width=390, height=844, touch=True)
    page.locator("#dominant img").tap(position={"x": 3, "y": 3})
    assert page.locator("#place").inner_text() == "Row 0, column 0"
    page.get_by_role("button", name="Zoom in").tap()
    wide = page.locator("#dominant img").evaluate("image => image.getBoundingClientRect().width")
    assert wide == pytest.approx(2 * page.locator("#dominant .frame").bounding_box()["width"])
    page.get_by_role("button", name="Close").tap()
    assert page.locator("#pixel").is_hidden()


def test_names_and_colours_are_kept_in_the_address(visit, mixture, browser):
    page = visit(mixture)
    page.locator("#edit summary").click()
    name = "Water <b>&amp;"
    page.locator('#edit [type="text"]').nth(1).fill(name)
    page.locator('#edit [type="text"]').nth(1).press("Enter")
    page.locator('#edit [type="color"]').nth(1).fill("#123456")
    page.get_by_role("link", name="Residual").click()
    again = browser.new_page()
    again.goto(page.url)
    for opened in (page, again):
        opened.wait_for_function("document.querySelector('#dominant img').src.length > 100")
        assert set(opened.locator('[data-name="1"]').all_inner_texts()) == {name}
        colour = (
            opened.locator("path.line").nth(1).evaluate("line => getComputedStyle(line).stroke")
        )
        assert colour == "rgb(18, 52, 86)"
    again.close()


def test_a_pixel_without_data_says_so(visit):
    page = visit(make_result())
    image = page.locator("#residual img")
    image.scroll_into_view_if_needed()
    image.click(position={"x": 20, "y": 3})
    assert page.locator("#facts").inner_text().startswith("No data")


def test_a_notebook_shows_the_same_page(browser, mixture, tmp_path):
    path = tmp_path / "notebook.html"
    path.write_text(mixture.explore()._repr_html_(), encoding="utf-8")
    page = browser.new_page()
    faults = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.goto(path.as_uri())
    inside = page.frame_locator("iframe")
    inside.locator("#dominant img").click(position={"x": 10, "y": 10})
    assert inside.locator("#place").inner_text() == "Row 0, column 0"
    assert str(mixture.explore()).count("<h1>") == 1
    assert faults == []
    page.close()


def test_a_poor_fit_is_the_first_section_and_a_warning(visit):
    fit = Fit(error=0.42, noise=0.02, n_materials=3)
    patch = Patch(np.array([[5, 6], [5, 7]]), share=0.3)
    page = visit(make_result(fit=fit, unexplained=(patch,)))
    first = page.locator("main section").first
    assert first.get_attribute("class") == "warning"
    assert first.locator("h2").inner_text() == fit.headline
    assert page.locator("#residual .marks circle").count() == 1
    order = page.locator("main section").evaluate_all("all => all.map(each => each.id)")
    assert order[:3] == ["fit", "found", "proven"]
