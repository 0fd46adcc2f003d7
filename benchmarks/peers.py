"""The decoder beside its peers, what the formula predicts, and the app's race. Part of `make bench`.

Same pair, prompts, threads and K; every text has exactly as many tokens, since no end token ends one. A repetition runs
every contestant once, and a ratio is taken within it, so that a slow minute of the machine slows both sides. Peers:
transformers' generate, plain and assisted, at its defaults and at our K (constant schedule, confidence threshold 0);
flashspec (PyPI), at its defaults and at our K, where it is installed; our own loop without a draft.
"""

from __future__ import annotations

import statistics
import sys
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import torch
import transformers

import specviz as sv
from benchmarks.contestants import PLAIN, Case, Contest, Peer, Ran, peers
from benchmarks.timing import TEXTS, in_turns, machine, options, positive, ratios, spread, table, whole_rounds

APP_TEMPERATURE = 0.6  # what the Watch page begins with
RACED = range(1, 9)
WARM = 16  # tokens


Contestants = dict[tuple[str, int], Callable[[int], Ran]]  # by name and K
Runs = dict[tuple[str, int], list[Ran]]  # a run for each repetition


def predicted(trace: sv.Trace, plain: sv.Trace) -> float:
    """The speed-up of the formula over the measured pieces: E[N] T_plain / (K T_q + T_verify).

    E[N]: tokens of a mean round. The times are of mean rounds too, with what the host does in a pass. NaN where no
    round drafted all K.
    """
    rounds = whole_rounds(trace)
    if not rounds:
        return float("nan")
    emitted = statistics.fmean(len(r.emitted) for r in rounds)
    plain_s = statistics.fmean(r.round_s for r in plain.rounds[1:] or plain.rounds)
    return emitted * plain_s / statistics.fmean(r.draft_s + r.verify_s for r in rounds)


def case_runs(contest: Contest, case: Case, lengths: Sequence[int], repeats: int, against: Sequence[Peer]) -> Runs:
    """All of a case, warm and in turns: ours at each K, and each peer, at each K where that changes it."""

    def contestants(case: Case) -> Contestants:
        asked: Contestants = {("ours", k): partial(contest.ours, case, k) for k in lengths}
        for peer in against:
            asked |= {(peer.name, k): partial(peer.run, contest, case, k) for k in (lengths if peer.at_k else [0])}
        return asked

    in_turns(contestants(replace(case, n_tokens=min(WARM, case.n_tokens))), 1)
    return in_turns(contestants(case), repeats)


def unlike(runs: Runs, case: Case) -> list[str]:
    """Contestants with a text that is none: too short or too long, or, where nothing is random, not ours."""
    first = runs["ours", min(k for name, k in runs if name == "ours")]
    return [
        f"{name} (K = {k}, {case.text}, {case.law})"
        for (name, k), ran in runs.items()
        if any(len(r.tokens) != case.n_tokens for r in ran)
        or (case.temperature == 0 and [r.tokens for r in ran] != [r.tokens for r in first])
    ]


def speeds(runs: Runs, k: int, against: Sequence[Peer]) -> list[str]:
    """Ours at this K over each peer, a cell each: above 1, ours is faster."""
    ours = [r.seconds for r in runs["ours", k]]
    return [
        f"{spread(ratios([r.seconds for r in runs[peer.name, k if peer.at_k else 0]], ours)):.2f}" for peer in against
    ]


def formula(runs: Runs, k: int) -> list[str]:
    """Measured speed-up over our plain loop, the formula's, and the one over the other, a cell each."""
    traces = [(ours.trace, plain.trace) for ours, plain in zip(runs["ours", k], runs[PLAIN, 0], strict=True)]
    told = [predicted(ours, plain) for ours, plain in traces if ours and plain]
    measured = ratios([r.seconds for r in runs[PLAIN, 0]], [r.seconds for r in runs["ours", k]])
    return [f"{spread(values):.2f}" for values in (measured, told, ratios(measured, told))]


def race(contest: Contest, text: str, n_tokens: int, repeats: int) -> list[str]:
    """The app's race at each K: tokens per second over plain's. A cell for each K, and the best."""
    case = Case(text, APP_TEMPERATURE, n_tokens)
    runs = case_runs(contest, case, RACED, repeats, [peer for peer in peers() if peer.name == PLAIN])
    plain = [r.seconds for r in runs[PLAIN, 0]]
    found = {k: spread(ratios(plain, [r.seconds for r in runs["ours", k]])) for k in RACED}
    best = max(RACED, key=lambda k: found[k].median)
    return [text, *(f"{found[k].median:.2f}" for k in RACED), f"K = {best}: {found[best]:.2f}"]


def main() -> int:
    parser = options(__doc__, repeats=4)
    parser.add_argument("-k", "--draft-lengths", type=positive, nargs="+", default=[2, 4, 8], metavar="K")
    parser.add_argument("--tokens", type=positive, default=128)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    warnings.simplefilter("ignore", FutureWarning)  # transformers' own, of what its peers still call
    transformers.logging.set_verbosity_error()
    contest, against = Contest(), peers()
    print(f"bundled pair, {args.tokens} tokens, {args.repeats} repetitions in turns; {machine()}")
    if not any(peer.name.startswith("flashspec") for peer in against):
        print("flashspec is not installed (requirements-dev.txt has it), so it is left out")

    faster, laws, parted = [], [], []
    for temperature in (0.0, 1.0):
        for text in TEXTS:
            case = Case(text, temperature, args.tokens)
            runs = case_runs(contest, case, args.draft_lengths, args.repeats, against)
            parted += unlike(runs, case)
            for k in args.draft_lengths:
                named = f"{text}, {case.law}, K = {k}"
                faster.append([named, *speeds(runs, k, against)])
                laws.append([named, *formula(runs, k)])
    print("\nspeed of ours over each peer's, median (least–most)")
    print(table(["", *(peer.name for peer in against)], faster))
    print("\nspeed-up over our plain loop, and E[N] T_plain / (K T_q + T_verify) of its measured pieces")
    print(table(["", "measured", "formula", "measured / formula"], laws))
    print(f"\nthe race of the app, T = {APP_TEMPERATURE}: speed-up over our plain loop by K")
    raced = [race(contest, text, args.tokens, args.repeats) for text in TEXTS]
    print(table(["", *map(str, RACED), "best"], raced))
    if parted:
        print(f"\nnot our tokens, or not as many: {'; '.join(parted)}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
