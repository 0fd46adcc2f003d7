"""Behind a proxy that gives the app a path of its own: every page, link, asset and file is found under it."""

import pytest

from benchmarks.browser import ROOT, server
from specviz import examples
from specviz.ui import state
from tests.visit import Visit

pytest.importorskip("playwright.sync_api", reason="needs the playwright package")
pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def prefixed():
    with server(ROOT / "app.py", "--server.baseUrlPath=spec") as (address, _process):
        yield f"{address}/spec"


def test_a_deep_link_under_a_prefix_opens_its_step_and_plays(browser, prefixed, tmp_path):
    with Visit(browser) as v:
        v.open(f"{prefixed}/watch?run=code&round=2&step=3")
        assert v.where == (2, 3)
        v.press("ArrowRight")
        v.keeps((2, 4))
        assert v.page.url.startswith(f"{prefixed}/watch?")
        v.save("Table (CSV)", tmp_path / "run.csv")
        assert (tmp_path / "run.csv").read_text() == examples.load("code").to_csv()


def test_pages_lead_to_each_other_under_a_prefix(browser, prefixed):
    with Visit(browser) as v:
        v.open(prefixed)
        v.page.get_by_role("link", name="Run your own").click()
        v.button("Run").wait_for()
        assert v.page.url.startswith(f"{prefixed}/watch")
        v.page.get_by_role("link", name="Talk").first.click()
        v.page.wait_for_url(f"{prefixed}/talk*")


def test_a_link_with_inputs_holds_under_a_prefix(browser, prefixed):
    with Visit(browser) as v:
        v.open(f"{prefixed}/tokens?{state.ALPHA}=0.5&{state.K}=3", there=".katex")
        v.page.get_by_text("1.875").first.wait_for()  # (1 - 0.5 ** 4) / (1 - 0.5)
