"""Whether a round costs more the longer the text is, and how large its record is. Part of `make bench`.

The bundled pair's weights declare 1,024 places; here they are loaded with room for more, which their rotary positions
allow, so that a run of 2,000 tokens has drafts that stand and fall. What a round costs beside its forward passes (the
overhead) must not grow with the text; the passes do, since attention looks at all of it. The record's size must not
grow with the vocabulary: it keeps the best few tokens of each law.
"""

from __future__ import annotations

import pickle
import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import plotly.graph_objects as go
import torch
import transformers
from transformers import AutoModelForCausalLM, AutoTokenizer

import specviz as sv
from benchmarks.browser import FLAGS, chromium
from benchmarks.timing import TEXTS, Clock, Clocks, machine, options, positive, table
from specviz.figures import style
from specviz.models import presets
from specviz.models.base import Reader
from specviz.models.hf import HFModel, HFReader

VOCABULARIES = (2048, 32_000, 150_000)
PARTS = 10
OVERHEAD, FORWARD = "overhead", "forward"


class Cost(NamedTuple):
    """A round: tokens in its text before it, and milliseconds of the processor, which others do not lengthen."""

    start: int
    forward_ms: float
    overhead_ms: float


def long_pair(n_places: int) -> sv.Pair:
    """The bundled pair with so many places, and no token that ends a text."""
    folders = [presets.NAMED[name] for name in (presets.TARGET, presets.DRAFT)]
    target, draft = (
        AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, max_position_embeddings=n_places)
        for folder in folders
    )
    pair = sv.Pair.from_transformers(target, draft, AutoTokenizer.from_pretrained(folders[0]))
    assert isinstance(pair.target, HFModel)
    pair.target.eos = frozenset()
    return pair


def costs(pair: sv.Pair, k: int, n_tokens: int, sampling: sv.Sampling) -> list[Cost]:
    """Of every round but the first, which reads the prompt, and those at the end that draft fewer."""
    clocks = (Clock(HFReader, "_pass", FORWARD), Clock(sv.Run, "__next__", OVERHEAD))
    run = sv.stream(pair, TEXTS["prose"][0], draft_length=k, max_new_tokens=n_tokens, sampling=sampling, seed=0)
    found = []
    with Clocks(time.thread_time).around(*clocks) as taking:
        for round_ in run:
            spent = taking.take()
            if round_.index and len(round_.nodes) == k:
                found.append(Cost(round_.start, 1000 * spent[FORWARD], 1000 * spent[OVERHEAD]))
    return found


def parts(rounds: Sequence[Cost], n_parts: int) -> list[Cost]:
    """Medians over each of so many stretches of the text, all of one length in tokens."""
    first, last = rounds[0].start, rounds[-1].start + 1
    stretches: list[list[Cost]] = [[] for _ in range(n_parts)]
    for cost in rounds:
        stretches[n_parts * (cost.start - first) // (last - first)].append(cost)
    return [
        Cost(
            round(statistics.fmean(cost.start for cost in stretch)),
            statistics.median(cost.forward_ms for cost in stretch),
            statistics.median(cost.overhead_ms for cost in stretch),
        )
        for stretch in stretches
        if stretch
    ]


def figure(found: Sequence[Cost]) -> go.Figure:
    """What a round's passes and its overhead cost, over the text before it."""
    colours = style.palette("light")
    lines = (
        ("its passes", "forward_ms", colours.target, "circle"),
        ("its overhead", "overhead_ms", colours.draft, "square"),
    )
    drawn = go.Figure(layout=style.layout("light"))
    for name, of, colour, symbol in lines:
        drawn.add_scatter(
            x=[cost.start for cost in found],
            y=[getattr(cost, of) for cost in found],
            name=name,
            mode="lines+markers",
            line_color=colour,
            marker={"symbol": symbol, "size": 9},
        )
    drawn.update_xaxes(title="tokens before the round")
    drawn.update_yaxes(title="a round's processor time (ms)", rangemode="tozero")
    return drawn.update_layout(margin={"l": 64, "r": 16, "t": 16, "b": 56}, legend={"x": 0.02, "y": 0.98})


def save(drawn: go.Figure, path: Path) -> None:
    """As a PNG, by way of a Chromium."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        page = playwright.chromium.launch(executable_path=chromium(), args=FLAGS).new_page()
        page.set_viewport_size({"width": 840, "height": 440})
        page.set_content(drawn.to_html(config={"displayModeBar": False}, default_width="820px", default_height="420px"))
        page.locator(".js-plotly-plot .main-svg").first.wait_for()
        page.screenshot(path=path)


class Noise(Reader):
    """A model of any vocabulary whose laws are random: normal logits, from the text's length and a seed."""

    context_length = None
    eos: frozenset[int] = frozenset()

    def __init__(self, name: str, vocab_size: int, seed: int) -> None:
        super().__init__()
        self.name, self.vocab_size, self._seed = name, vocab_size, seed
        self._length = 0

    def open(self, prompt: Sequence[int] = ()) -> Reader:  # noqa: ARG002
        return Noise(self.name, self.vocab_size, self._seed)

    def _feed(self, tokens: list[int], n: int) -> npt.NDArray[np.floating]:
        self._length += len(tokens)
        places = range(self._length - n, self._length)
        return np.array([np.random.default_rng((self._seed, i)).normal(0, 4, self.vocab_size) for i in places])

    def _drop(self, n: int) -> None:
        self._length -= n


class Size(NamedTuple):
    """Bytes of a round's record: pickled, the largest and the mean; and in the trace's JSON, the mean."""

    largest: int
    mean: float
    json: float


def size(vocab_size: int, k: int, n_tokens: int = 24) -> Size:
    """Of the rounds of a run between two models with a vocabulary of this size."""
    pair = sv.Pair(Noise("target", vocab_size, 1), Noise("draft", vocab_size, 2))
    trace = sv.speculate(pair, [1, 2, 3], draft_length=k, max_new_tokens=n_tokens, seed=0)
    pickled = [len(pickle.dumps(round_)) for round_ in trace.rounds if len(round_.nodes) == k]
    return Size(max(pickled), statistics.fmean(pickled), len(trace.to_json() or "") / len(trace.rounds))


def main() -> int:
    parser = options(__doc__, repeats=2)
    parser.add_argument("-k", "--draft-length", type=positive, default=4)
    parser.add_argument("--tokens", type=positive, default=2000)
    parser.add_argument("--plot", type=Path, metavar="PNG", help="where to draw the costs (needs a Chromium)")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    transformers.utils.logging.disable_progress_bar()
    pair = long_pair(2 * args.tokens)
    head = f"bundled weights, K = {args.draft_length}, T = 1, {args.tokens} tokens"
    print(f"{head}, {args.repeats} runs; {machine()}")
    costs(pair, args.draft_length, 64, sv.Sampling(1))  # warm
    runs = [costs(pair, args.draft_length, args.tokens, sv.Sampling(1)) for _ in range(args.repeats)]
    found = parts(sorted(cost for run in runs for cost in run), PARTS)
    rows = [[f"{c.start}", f"{c.forward_ms:.3f}", f"{c.overhead_ms:.3f}"] for c in found]
    print(table(["tokens before the round", "its passes (CPU ms)", "its overhead (CPU ms)"], rows))
    first, last = found[0].overhead_ms, found[-1].overhead_ms
    slope = 1e6 * statistics.linear_regression([c.start for c in found], [c.overhead_ms for c in found]).slope
    print(f"overhead: the last tenth over the first {last / first:.3f}; by a line {slope:+.0f} µs in 1,000 tokens")
    if args.plot:
        save(figure(found), args.plot)
    print()
    sizes = [[f"{v}", *(f"{n:.0f}" for n in size(v, args.draft_length))] for v in VOCABULARIES]
    print(table(["vocabulary V", "largest round, pickled (bytes)", "mean, pickled", "mean, as JSON"], sizes))
    return 0


if __name__ == "__main__":
    sys.exit(main())
