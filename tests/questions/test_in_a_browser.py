"""The calculators and labs in a browser: links that reproduce a page, the files of a figure, aids, narrow windows."""

import io
from xml.etree import ElementTree

import pandas as pd
import pytest

from specviz import theory
from tests.visit import Visit

axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs axe-playwright-python")

pytestmark = pytest.mark.browser

THERE = ".sv-foot"  # the last of every page
LINKS = {  # values that are not the page's own
    "acceptance": "laws=A_B~0.6_0.4~0.3_0.7&warp=both&wT=0.5",
    "tokens": "alpha=0.65&K=9",
    "length": "alpha=0.65&K=9&c=7&s=0.1",
    "drafts": "drafts=small,0.6,20;large,0.9,5",
    "hand": "hv=A+B+C&hp=0.4+0.5+0.1&hq=0.6+0.3+0.1&hd=A+B+A&hr=0.3+–+0.1&hu=B&c=8",
    "lossless": "proof=Broken+rules",
    "rounds": "run=code&outcome=with+a+rejection",
}


def shown(visit):
    """The answer, and how often the page holds each figure."""
    visit.page.locator(".js-plotly-plot .main-svg").first.wait_for()
    return visit.page.locator(".sv-answer").all_inner_texts(), visit.page.locator(".js-plotly-plot").count()


@pytest.mark.parametrize("name", LINKS)
def test_a_link_reproduces_the_page(browser, address, name):
    with Visit(browser) as plain, Visit(browser) as first, Visit(browser) as second:
        default = shown(plain.open(f"{address}/{name}", THERE))
        asked = shown(first.open(f"{address}/{name}?{LINKS[name]}", THERE))
        assert asked != default
        assert shown(second.open(first.page.url, THERE)) == asked


def test_what_is_moved_is_in_the_link(browser, address):
    with Visit(browser) as one, Visit(browser) as other:
        one.open(f"{address}/tokens", THERE)
        slider = one.page.get_by_role("slider", name="Acceptance rate")
        slider.focus()
        one.press(*["ArrowLeft"] * 7)
        one.page.wait_for_function("location.search.includes('alpha=0.73')")
        one.page.get_by_text("At α = 0.73").wait_for()
        assert shown(other.open(one.page.url, THERE)) == shown(one)


def test_a_figure_is_saved_as_numbers_and_as_pictures(browser, address):
    with Visit(browser) as v:
        v.open(f"{address}/tokens?alpha=0.5&K=3", THERE)
        files = {}
        for name in ("CSV", "Save this figure as PNG", "Save this figure as SVG"):
            with v.page.expect_download() as download:
                v.page.get_by_role("button", name=name, exact=True).first.click()
            files[download.value.suggested_filename.rpartition(".")[2]] = download.value.path().read_bytes()
        numbers = pd.read_csv(io.BytesIO(files["csv"]))
        assert numbers["probability"].tolist() == pytest.approx(theory.tokens_law(0.5, 3).tolist())
        assert files["png"].startswith(b"\x89PNG")
        assert "E[N] = 1.88" in "".join(ElementTree.fromstring(files["svg"]).itertext())


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", LINKS)
def test_no_serious_fault_for_readers_with_aids(browser, address, name, theme):
    with Visit(browser, theme=theme, motion="reduce") as v:
        v.open(f"{address}/{name}", THERE)
        v.page.locator(".js-plotly-plot .main-svg").first.wait_for()
        found = axe.Axe().run(v.page).response["violations"]
        assert {
            f["id"]: [n["target"] for n in f["nodes"]] for f in found if f["impact"] in ("serious", "critical")
        } == {}


@pytest.mark.parametrize("name", LINKS)
def test_nothing_is_wider_than_a_telephone(browser, address, name):
    with Visit(browser, size=(390, 844)) as v:
        v.open(f"{address}/{name}", THERE)
        v.page.locator(".js-plotly-plot .main-svg").first.wait_for()
        assert v.page.evaluate("document.querySelector('.stMain').scrollWidth <= innerWidth")
