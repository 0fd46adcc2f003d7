"""The app as a visitor meets it: how soon Home and the first round stand there, frames per second, a rerun. Prints all.

    python -m benchmarks.app

A server of its own, a headless Chromium of 1440 x 900 on the same machine. Times are by the page's clock, from the
click or the call of the address to the first frame in which the stage shows a round.
"""

from __future__ import annotations

import argparse
import os
import shutil
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

from benchmarks.stage import FLAGS, FRAMES

ROOT = Path(__file__).parents[1]
SHOWN = """(text) => new Promise((done) => {
  const look = () => {
    const stage = [...document.querySelectorAll('.stBidiComponent *')].find((e) => e.shadowRoot)?.shadowRoot;
    const where = stage?.querySelector('.where b')?.textContent ?? '';
    if (where && (!text || stage.querySelector('.prompt').textContent === text)) done(performance.now());
    else requestAnimationFrame(look);
  };
  look();
})"""


@contextmanager
def serving() -> Iterator[str]:
    """A server on a free port; gives its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "streamlit", "run", "app.py", f"--server.port={port}", "--server.headless=true"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            while True:
                with socket.socket() as s:
                    if s.connect_ex(("127.0.0.1", port)) == 0:
                        break
                time.sleep(0.1)
            yield f"http://localhost:{port}"
        finally:
            process.terminate()


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


def first_round(page: Page, repeats: int) -> list[float]:
    """Milliseconds from the click on Run until the stage shows the new run's first round."""
    found = []
    for i in range(repeats):
        prompt = f"It was the {i + 1}. of May"
        box = page.get_by_role("textbox", name="Prompt")
        box.fill(prompt)
        page.get_by_label("Temperature").focus()  # the prompt is sent when the box is left
        page.wait_for_timeout(1500)
        start = page.evaluate("performance.now()")
        page.get_by_role("button", name="Run", exact=True).click()
        found.append(page.evaluate(SHOWN, prompt) - start)
        page.get_by_role("button", name="Stop", exact=True).and_(page.locator(":disabled")).wait_for()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=20)
    options = parser.parse_args()
    with serving() as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        cold, warm = home(browser, address, options.repeats)
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.goto(f"{address}/watch")
        page.evaluate(SHOWN, "")
        page.wait_for_timeout(15_000)  # the pair is loaded meanwhile
        rounds = first_round(page, options.repeats)
        page.wait_for_timeout(3000)
        gaps = page.evaluate(FRAMES, options.seconds * 1000)
        playing = page.locator(".stage .go-play[aria-label=Pause]").count() == 1
        speed = page.get_by_text("tokens per second").first.inner_text()
        browser.close()
    print(f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}")
    print(f"Home      {cold:>7.0f} ms with an empty browser cache, {statistics.median(warm):.0f} ms after that")
    print(f"Run       {statistics.median(rounds):>7.0f} ms to the first round, longest {max(rounds):.0f} ms; {speed}")
    print(f"playing   {1000 / statistics.fmean(gaps):>7.1f} frames per second at 1x in the app, longest gap "
          f"{max(gaps):.0f} ms{'' if playing else ' (NOT PLAYING)'}")  # fmt: skip


if __name__ == "__main__":
    main()
