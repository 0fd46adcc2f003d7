"""The app as a visitor meets it: how soon Home and the first round stand there, frames per second, a rerun. Prints all.

    python -m benchmarks.app        # needs requirements-dev.txt and a Chromium

A server of its own, a headless Chromium of 1440 x 900 on the same machine. Times are by the page's clock, from the
click or the call of the address to the first frame in which the stage shows a round.
"""

from __future__ import annotations

import argparse
import os
import statistics

from playwright.sync_api import Browser, Page, sync_playwright

from benchmarks.browser import FLAGS, chromium, serving
from benchmarks.stage import FRAMES

SHOWN = """(text) => new Promise((done) => {
  const look = () => {
    const stage = [...document.querySelectorAll('.stBidiComponent *')].find((e) => e.shadowRoot)?.shadowRoot;
    const where = stage?.querySelector('.where b')?.textContent ?? '';
    if (where && (!text || stage.querySelector('.prompt').textContent === text)) done(performance.now());
    else requestAnimationFrame(look);
  };
  look();
})"""


def home(browser: Browser, address: str, repeats: int) -> tuple[float, list[float]]:
    """Milliseconds until Home's stage shows a round: with an empty browser cache, and with a filled one."""
    page = browser.new_context(viewport={"width": 1440, "height": 900}).new_page()
    page.goto(address)
    first = page.evaluate(SHOWN, "")
    warm = []
    for _ in range(repeats):
        page.goto("about:blank")
        page.goto(address)
        warm.append(page.evaluate(SHOWN, ""))
    page.context.close()
    return first, warm


def first_round(page: Page, prompt: str) -> float:
    """Milliseconds from the click on Run until the stage shows the new run's first round. Waits for its end."""
    page.get_by_role("textbox", name="Prompt").fill(prompt)
    page.get_by_label("Temperature").focus()  # the prompt is sent when the box is left
    page.wait_for_timeout(1500)
    start = page.evaluate("performance.now()")
    page.get_by_role("button", name="Run", exact=True).click()
    spent = page.evaluate(SHOWN, prompt) - start
    page.get_by_role("button", name="Stop", exact=True).and_(page.locator(":disabled")).wait_for()
    return float(spent)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=20)
    options = parser.parse_args()
    with serving() as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        cold, warm = home(browser, address, options.repeats)
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.goto(f"{address}/watch")
        page.evaluate(SHOWN, "")
        first_round(page, "Once upon a time")  # loads the models
        rounds = [first_round(page, f"It was the {i + 1}. of May") for i in range(options.repeats)]
        page.wait_for_timeout(3000)
        gaps = page.evaluate(FRAMES, options.seconds * 1000)
        playing = page.locator(".stage .go-play[aria-label=Pause]").count() == 1
        speed = page.get_by_text("tokens per second").first.inner_text()
        browser.close()
    print(f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}")
    print(f"Home      {cold:>7.0f} ms with an empty browser cache, {statistics.median(warm):.0f} ms after that")
    print(f"Run       {statistics.median(rounds):>7.0f} ms to the first round, models loaded, longest "
          f"{max(rounds):.0f} ms; {speed}")  # fmt: skip
    print(f"playing   {1000 / statistics.fmean(gaps):>7.1f} frames per second at 1x in the app, longest gap "
          f"{max(gaps):.0f} ms{'' if playing else ' (NOT PLAYING)'}")  # fmt: skip


if __name__ == "__main__":
    main()
