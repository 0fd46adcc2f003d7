"""The stage in a browser: frames per second while it plays, and what one step costs. Prints both.

    python -m benchmarks.stage      # needs requirements-dev.txt and a Chromium

The trace is a run of the bundled pair, in the exported page, in a headless Chromium of 1440 x 900. A step's cost is the
page's main thread from the key to the finished layout: by the clock, and in processor time, which a busy machine does
not stretch.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
from pathlib import Path

from playwright.sync_api import CDPSession, sync_playwright

import specviz as sv
from benchmarks.browser import FLAGS, chromium

FRAMES = """(ms) => new Promise((done) => {
  const start = performance.now();
  const gaps = [];
  let before = start;
  const frame = (now) => {
    gaps.push(now - before);
    before = now;
    if (now - start < ms) requestAnimationFrame(frame);
    else done(gaps.slice(1));
  };
  requestAnimationFrame(frame);
})"""
STEPS = """async (n) => {
  const spent = [];
  for (let i = 0; i < n; i += 1) {
    const start = performance.now();
    window.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowRight', bubbles: true }));
    document.querySelector('.stage').offsetHeight;
    spent.push(performance.now() - start);
    await new Promise(requestAnimationFrame);
  }
  return spent;
}"""


def busy_s(session: CDPSession) -> float:
    """Processor seconds that the page's main thread has spent on scripts, styles and layout."""
    found = {metric["name"]: metric["value"] for metric in session.send("Performance.getMetrics")["metrics"]}
    return sum(found[name] for name in ("ScriptDuration", "RecalcStyleDuration", "LayoutDuration"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--steps", type=int, default=120)
    options = parser.parse_args()
    trace = sv.speculate(sv.load_pair(), "It is a truth universally acknowledged", max_new_tokens=96, seed=3)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        path = Path(folder) / "run.html"
        trace.to_html(path)
        browser = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.goto(path.as_uri())
        page.locator(".where b").wait_for()
        page.wait_for_timeout(1000)
        idle = page.evaluate(FRAMES, 5000)
        page.keyboard.press(" ")
        playing = page.evaluate(FRAMES, options.seconds * 1000)
        page.keyboard.press(" ")
        page.keyboard.press("Home")
        page.evaluate(STEPS, 20)
        session = page.context.new_cdp_session(page)
        session.send("Performance.enable", {"timeDomain": "threadTicks"})
        before = busy_s(session)
        steps = sorted(page.evaluate(STEPS, options.steps))
        busy = (busy_s(session) - before) / options.steps
        browser.close()
    print(f"{len(trace.rounds)} rounds; {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}")
    for name, gaps in (("standing still", idle), ("playing at 1x", playing)):
        print(f"{name:<16}{1000 / statistics.fmean(gaps):>7.1f} frames per second; median gap "
              f"{statistics.median(gaps):.1f} ms, longest {max(gaps):.0f} ms")  # fmt: skip
    print(f"one step        {statistics.median(steps):>7.1f} ms in the middle, {steps[int(0.95 * len(steps))]:.1f} ms "
          f"for 19 of 20; {1000 * busy:.1f} ms of processor time on average")  # fmt: skip


if __name__ == "__main__":
    main()
