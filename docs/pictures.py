"""Takes the pictures in this folder anew: `python -m docs.pictures`, from the app and its recorded run.

Needs requirements-dev.txt and a Chromium.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from benchmarks.app import SHOWN
from benchmarks.browser import FLAGS, chromium, serving
from specviz import examples
from specviz.timeline import Step, steps

HERE = Path(__file__).parent
SETTLED_MS = 2500  # after which nothing moves any more
QUESTIONS = ("acceptance", "length", "lossless", "drafts")  # pages without a stage


def place(wanted: Callable[[Step], bool]) -> str:
    """The address's words for the first such step of the recorded run that Home shows."""
    name = examples.NAMES[0]
    step = next(step for step in steps(examples.load(name)) if wanted(step))
    return f"?run={name}&round={step.round + 1}&step={step.index + 1}"


def take(browser: Browser, address: str, name: str, size: tuple[int, int] = (1440, 900), dark: bool = False) -> None:
    context = browser.new_context(
        viewport={"width": size[0], "height": size[1]},
        color_scheme="dark" if dark else "light",
        reduced_motion="reduce",
    )
    page = context.new_page()
    page.goto(address)
    if any(question in address for question in QUESTIONS):
        page.locator(".js-plotly-plot .main-svg").first.wait_for()
    else:
        page.evaluate(SHOWN, "")
    page.wait_for_timeout(SETTLED_MS)
    page.screenshot(path=HERE / f"{name}.png")
    context.close()
    print(f"docs/{name}.png")


def main() -> None:
    with serving() as app, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        take(browser, app, "home")
        take(browser, f"{app}/watch{place(lambda s: s.kind == 'draft')}", "draft")
        take(browser, f"{app}/watch{place(lambda s: s.kind == 'verify')}", "verify")
        take(browser, f"{app}/watch{place(lambda s: s.kind == 'judge' and 'rejected' in s.cards)}", "rejected")
        take(browser, f"{app}/watch{place(lambda s: s.kind == 'residual')}", "residual")
        take(browser, f"{app}/watch{place(lambda s: s.kind == 'bonus')}", "bonus", dark=True)
        take(browser, f"{app}/talk{place(lambda s: s.kind == 'residual')}", "talk", size=(1920, 1080))
        take(browser, f"{app}/acceptance", "acceptance")
        take(browser, f"{app}/length", "length")
        take(browser, f"{app}/drafts", "drafts", dark=True)
        take(browser, f"{app}/lossless?proof=Broken+rules", "lossless")
        browser.close()


if __name__ == "__main__":
    main()
