"""The app's own speed: server time, first paint, Run to the first round, messages, memory, the pair. Prints all.

    make bench-app        # python -m benchmarks.app; needs requirements-dev.txt and a Chromium

Every browser time is by the page's clock, in a headless Chromium of 1440 x 900 on the server's own machine. A paint
counts from the call of the address to the first frame in which the page's stage shows a round, or its answer stands;
cold is a server that was just started and a browser with an empty cache. Run counts from the press of the button.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

from benchmarks import pages
from benchmarks.browser import FLAGS, ROOT, chromium, server, serving
from benchmarks.hosted import FLAT, Seen, growth, megabytes, visit
from benchmarks.stage import FRAMES
from benchmarks.wire import Sent, wire

GOAL_PAINT_S, GOAL_RUN_S, GOAL_LOAD_S = 1.0, 0.3, 1.5
PAINTED_SOON = ("home", "acceptance", "tokens", "length", "drafts")  # whose cold paint has that goal
RUNS, WEIGHED_S = 100, 0.25  # in one session, and from one look at the memory to the next
SHOWN = """(text) => new Promise((done) => {
  const look = () => {
    const stage = [...document.querySelectorAll('.stBidiComponent *')].find((e) => e.shadowRoot)?.shadowRoot;
    const where = stage?.querySelector('.where b')?.textContent ?? '';
    if (where && (!text || stage.querySelector('.prompt').textContent === text)) done(performance.now());
    else requestAnimationFrame(look);
  };
  look();
})"""
ANSWERED = """() => new Promise((done) => {
  const look = () => {
    if (document.querySelector('.sv-answer')?.textContent) done(performance.now());
    else requestAnimationFrame(look);
  };
  look();
})"""
PRESSED = f"""(text) => {{
  let pressed = Infinity;
  window.addEventListener('pointerdown', (event) => {{ pressed = event.timeStamp; }}, {{ capture: true, once: true }});
  window.untilShown = ({SHOWN})(text).then((now) => now - pressed);
}}"""
EMPTY = """import streamlit as st
st.html('<p class="sv-answer">An app of this one sentence</p>')
"""
_LOAD = """
import time
start = time.perf_counter()
import specviz as sv
import torch, specviz.decoding, specviz.models.hf
imported = time.perf_counter()
sv.load_pair()
print(imported - start, time.perf_counter() - imported)
"""


def painted(page: Page, address: str, name: str) -> float:
    """Milliseconds until a page is there. name: of its file; the stage is waited for where there is one."""
    page.goto(f"{address}/{'' if name in ('home', 'empty') else name}", wait_until="commit")
    return float(page.evaluate(SHOWN, "") if name in ("home", "watch", "talk", "hand") else page.evaluate(ANSWERED))


def paints(browser: Browser, name: str, script: Path, repeats: int) -> tuple[float, list[float]]:
    """Milliseconds: cold, and those after it."""
    with serving(script) as address:
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        cold, warm = painted(page, address, name), []
        for _ in range(repeats):
            page.goto("about:blank")
            warm.append(painted(page, address, name))
        page.close()
    return cold, warm


def paint_lines(browser: Browser, repeats: int) -> Iterator[str]:
    """A table of all pages, and an app of one sentence beside them: what Streamlit itself takes."""
    soon = ", ".join(PAINTED_SOON)
    yield f"{'first paint, ms':<26}{'cold':>18}{'warm':>18}  goal: {soon} cold in {_ms(GOAL_PAINT_S)}"
    with tempfile.TemporaryDirectory() as folder:
        empty = Path(folder) / "empty.py"
        empty.write_text(EMPTY, encoding="utf-8", newline="\n")
        least = [paints(browser, "empty", empty, repeats) for _ in range(repeats)]
    floor = statistics.median(cold for cold, _warm in least)
    yield f"{'(an empty app)':<26}{floor:>17.0f} {statistics.median(t for _c, w in least for t in w):>17.0f} "
    for name in [Path(path).stem for path in pages.pages()]:
        cold, warm = paints(browser, name, ROOT / "app.py", repeats)
        over = name in PAINTED_SOON and cold > 1000 * GOAL_PAINT_S
        yield (
            f"{name:<26}{cold:>17.0f}{'!' if over else ' '}{statistics.median(warm):>17.0f}   "
            f"{cold - floor:+.0f} to the empty app"
        )


def first_round(page: Page, prompt: str) -> float:
    """Milliseconds from the press of Run until the stage shows the new run's first round. Waits for its end."""
    page.get_by_role("textbox", name="Prompt").fill(prompt)
    page.get_by_label("Temperature").focus()  # the prompt is sent when the box is left
    page.wait_for_timeout(1500)
    page.evaluate(PRESSED, prompt)
    page.get_by_role("button", name="Run", exact=True).click()
    spent = page.evaluate("window.untilShown")
    page.get_by_role("button", name="Stop", exact=True).and_(page.locator(":disabled")).wait_for()
    return float(spent)


def watch_lines(browser: Browser, repeats: int, seconds: float) -> Iterator[str]:
    """Run, what the server sends for a visit, a run and a step, and the frames of a run that plays."""
    with serving() as address, wire(address) as relay:
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        painted(page, relay.address, "watch")
        visited = _settled(page, lambda: relay.sent)
        first_round(page, "Once upon a time")  # loads the models
        before = _settled(page, lambda: relay.sent)
        first_round(page, "The captain said")
        run = _settled(page, lambda: relay.sent).since(before)
        step, turn = (_key(page, key, lambda: relay.sent) for key in ("ArrowRight", "ArrowDown"))
        page.goto(f"{address}/watch")  # without the relay
        page.evaluate(SHOWN, "")
        rounds = [first_round(page, f"It was the {i + 1}. of May") for i in range(repeats)]
        page.wait_for_timeout(3000)
        gaps = page.evaluate(FRAMES, seconds * 1000)
        playing = page.locator(".stage .go-play[aria-label=Pause]").count() == 1
        speed = page.get_by_text("tokens per second").first.inner_text()
        page.close()
    over = "!" if statistics.median(rounds) > 1000 * GOAL_RUN_S else ""
    yield f"Run       {statistics.median(rounds):.0f} ms{over} to the first round, models loaded, longest "\
          f"{max(rounds):.0f} ms; goal {_ms(GOAL_RUN_S)} ms. {speed}"  # fmt: skip
    yield f"playing   {1000 / statistics.fmean(gaps):.1f} frames per second at 1x in the app, longest gap "\
          f"{max(gaps):.0f} ms{'' if playing else ' (NOT PLAYING)'}"  # fmt: skip
    yield f"sent      on Watch, compressed: first visit {_kb(visited.messages)} of messages and "\
          f"{_kb(visited.files)} of files; a run {_kb(run.messages)}; a step {_kb(step.messages)}, "\
          f"to another round {_kb(turn.messages)}"  # fmt: skip


def _key(page: Page, key: str, look: Callable[[], Sent]) -> Sent:
    """What is sent for a key on the stage."""
    page.keyboard.press("Home")
    before = _settled(page, look)
    page.keyboard.press(key)
    page.wait_for_timeout(1000)
    return _settled(page, look).since(before)


def _settled(page: Page, look: Callable[[], Sent]) -> Sent:
    """What was sent, once a second has passed without more."""
    before: Sent | None = None
    now = look()
    while now != before:
        page.wait_for_timeout(1000)
        before, now = now, look()
    return now


def memory_line(runs: int = RUNS) -> str:
    """The server's memory over so many runs of one session, after a first one."""
    with server() as (address, process):
        visit(address, 0, float("inf"), Seen(), runs=1)
        seen = Seen()
        visitor = threading.Thread(target=visit, args=(address, 0, float("inf"), seen, runs), daemon=True)
        visitor.start()
        while visitor.is_alive():
            seen.memory.append(megabytes(process.pid))
            time.sleep(WEIGHED_S)
    grown = growth(seen.memory)
    fifth = max(1, len(seen.memory) // 5)
    parts = [statistics.median(seen.memory[i * fifth : (i + 1) * fifth]) for i in range(5)]
    flat = "" if abs(grown) <= FLAT else "!"
    return (
        f"memory    {', '.join(f'{part:.0f}' for part in parts)} MB over {len(seen.texts)} runs of one session: "
        f"{grown:+.1%}{flat}; goal within {FLAT:.0%}{'; ' if seen.errors else ''}{'; '.join(seen.errors)}"
    )


def load_line(repeats: int) -> str:
    """The bundled pair in fresh processes: its load, once torch and transformers are there."""
    imports, loads = [], []
    for _ in range(repeats):
        command = [sys.executable, "-c", _LOAD]
        told = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split()
        imports.append(float(told[0]))
        loads.append(float(told[1]))
    over = "!" if statistics.median(loads) > GOAL_LOAD_S else ""
    return (
        f"pair      {statistics.median(loads):.2f} s{over} to load the bundled pair, longest {max(loads):.2f} s; goal "
        f"{GOAL_LOAD_S} s. The imports before it: {statistics.median(imports):.1f} s"
    )


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:.0f}"


def _kb(n_bytes: int) -> str:
    return f"{n_bytes / 1000:,.0f} kB"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=5, help="of playing, for its frames")
    options = parser.parse_args()
    start = time.monotonic()
    print(f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}; ! is over its goal", flush=True)
    print(load_line(options.repeats), flush=True)
    print(memory_line(), flush=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        for line in (*watch_lines(browser, 2 * options.repeats - 1, options.seconds), ""):
            print(line, flush=True)
        for line in paint_lines(browser, options.repeats):
            print(line, flush=True)
        browser.close()
    print()
    for line in pages.lines(options.repeats):
        print(line, flush=True)
    print(f"{time.monotonic() - start:.0f} s; load {os.getloadavg()[0]:.1f} at the end")


if __name__ == "__main__":
    main()
