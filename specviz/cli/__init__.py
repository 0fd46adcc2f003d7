"""The command line: decode, presets, replay, measure, theory, serve. `terminal` says how things look.

Exit codes: 0 done; 2 an error, told in one sentence on stderr; 130 interrupted, with all that was done printed and
saved; 141 the reader of a pipe went away.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import specviz as sv
from specviz import drafters
from specviz.cli import terminal
from specviz.errors import ConfigError, PromptError, SpecvizError
from specviz.i18n import _
from specviz.models.machine import size
from specviz.records import Sampling, Trace
from specviz.timeline import number


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the exit code."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a terminal that lacks a character shows ? and goes on
    args = _parser().parse_args(argv)
    try:
        code: int = args.command(args)
        _say()
    except BrokenPipeError:  # the reader, `head` say, has what it wanted
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except KeyboardInterrupt:
        return 130
    except (SpecvizError, OSError) as error:
        print(f"specviz: {terminal.safe(str(error))}", file=sys.stderr)
        return 2
    return code


def decode(args: argparse.Namespace) -> int:
    """Decode a prompt, show the rounds as they come, save, and compare with plain decoding."""
    for path in (args.csv, args.json):
        if path is not None and not Path(path).expanduser().resolve().parent.is_dir():
            raise ConfigError(_("there is no folder for {path}. Make it first.").format(path=path))
    options: dict[str, Any] = {
        "max_new_tokens": args.max_new_tokens,
        "sampling": Sampling(
            args.temperature,
            args.top_k,
            args.top_p,
            args.min_p,
            args.repetition_penalty,
            args.presence_penalty,
            args.frequency_penalty,
            args.min_new_tokens,
            tuple(args.bad_word),
        ),
        "seed": args.seed,
        "stop": args.stop,
    }
    if args.system and not args.chat:
        raise ConfigError(_("--system needs --chat: a text to go on from has no system prompt"))
    text = _standard_input() if args.prompt == "-" else args.prompt
    prompt = sv.Chat(text, args.system) if args.chat else text
    pair = _loaded(args)
    pair = replace(pair, draft=drafters.paced(pair.draft, args.pace))
    paint = terminal.painter(args.color)
    interrupted = False
    with (
        sv.Run(pair, prompt, 0, **options)
        if args.plain
        else sv.stream(pair, prompt, draft_length=args.draft_length, **options)
    ) as run:
        _say(terminal.header(run.trace))
        try:
            for round_ in run:
                _say("", terminal.round_lines(round_, paint))
        except KeyboardInterrupt:
            interrupted = True
    trace, plain = run.trace, []
    _say("", terminal.text_lines(trace, paint))
    if args.csv is not None:
        trace.to_csv(args.csv)
    if args.json is not None:
        trace.to_json(args.json)
    if not (args.plain or interrupted):
        _say("", _("Decoding without the draft, to compare ..."))
        try:
            plain = [sv.autoregress(pair, prompt, **options | {"seed": trace.seed})]
        except KeyboardInterrupt:
            interrupted = True
    _say("", terminal.table(terminal.measured([trace], plain)))
    return 130 if interrupted else 0


def _loaded(args: argparse.Namespace) -> sv.Pair:
    """The pair; on a terminal a line on stderr follows each file that takes a while."""
    draft_device, draft_dtype = args.draft_device or args.device, args.draft_dtype or args.dtype
    with terminal.progress_line() as told:
        return sv.load_pair(
            args.target,
            args.draft,
            device=args.device if draft_device == args.device else (args.device, draft_device),
            dtype=(args.dtype, draft_dtype),
            quantize=args.quantize,
            device_map=args.device_map,
            progress=told,
        )


def presets(args: argparse.Namespace) -> int:  # noqa: ARG001 - every command takes them
    """Named pairs, what each needs, and whether that is free on this machine."""
    memory = sv.models.machine.memory()
    told = _("{device} ({name}): {free} of {total} free")
    sizes = {"free": size(memory.free), "total": size(memory.total)}
    _say(told.format(device=memory.device, name=terminal.safe(memory.name), **sizes), "")
    for preset in sv.models.presets.PRESETS:
        needs = size(preset.needs_bytes(memory.dtype))
        fits = _("fits") if preset.fits(memory) else _("does not fit")
        notes = [preset.licence] + [_("gated")] * preset.gated + [_("for a GPU")] * preset.for_gpu
        _say(f"{preset.name}: {_('{size} in {dtype}').format(size=needs, dtype=memory.dtype)}, {fits}")
        _say(f"  {', '.join(notes)}", f"  --target {preset.target} --draft {preset.draft}")
    return 0


def replay(args: argparse.Namespace) -> int:
    """Show a saved trace as `decode` showed it; no models."""
    trace, paint = Trace.from_json(args.trace), terminal.painter(args.color)
    _say(terminal.header(trace))
    for round_ in trace.rounds:
        _say("", terminal.round_lines(round_, paint))
    _say("", terminal.text_lines(trace, paint), "", terminal.table(terminal.measured([trace])))
    return 0


def measure(args: argparse.Namespace) -> int:
    """What saved traces show: those of one draft length together, against plain ones of the same target if given."""
    traces = [Trace.from_json(path) for path in args.traces]
    for k in sorted({t.draft_length for t in traces}):
        of_k = [t for t in traces if t.draft_length == k]
        targets = {t.target for t in of_k}
        plain = [t for t in traces if k and t.draft_length == 0 and {t.target} == targets]
        told = _("K = {k} (traces {n}, rounds {rounds})") if k else _("without a draft (traces {n}, rounds {rounds})")
        _say(told.format(k=k, n=len(of_k), rounds=sum(len(t.rounds) for t in of_k)))
        _say(terminal.table(terminal.measured(of_k, plain)))
    return 0


def theory(args: argparse.Namespace) -> int:
    """What the formulas predict at an acceptance rate and a cost ratio."""
    alpha, c, of = args.alpha, args.cost_ratio, sv.theory
    best = of.best_draft_length(alpha, c)
    k = best if args.draft_length is None else args.draft_length
    expected, speedup, at_best = of.expected_tokens(alpha, k), of.speedup(alpha, c, k), of.speedup(alpha, c, best)
    pays = c >= 1  # a draft slower than the target has no stationary point
    real = number(of.best_draft_length_continuous(alpha, c)) if pays else _("none, the draft is slower than the target")
    rows = [
        (_("E[N] at K = {k}").format(k=k), _("{n} tokens per target pass").format(n=number(expected))),
        (_("speed-up at K = {k}").format(k=k), f"{number(speedup)}×"),
        (_("K*"), _("{k} (speed-up {speedup}×)").format(k=best, speedup=number(at_best))),
        (_("K*, continuous"), real),
        (_("break-even α"), number(of.break_even_alpha(c))),
    ]
    _say(terminal.table(rows))
    return 0


def serve(args: argparse.Namespace) -> int:
    """Start the app."""
    app = Path(__file__).parents[2] / "app.py"
    if not app.is_file():
        raise ConfigError(_("the app is not there ({path}). Start it from a checkout.").format(path=app))
    options = ["--server.address", args.address]
    options += [] if args.port is None else ["--server.port", str(args.port)]
    return subprocess.call([sys.executable, "-m", "streamlit", "run", str(app), *options], cwd=app.parent)


def _say(*lines: str) -> None:
    print(*(f"{line}\n" for line in lines), sep="", end="", flush=True)


def _standard_input() -> str:
    try:
        return sys.stdin.read().removesuffix("\n")
    except UnicodeDecodeError as error:
        told = _("standard input is no {encoding} text (byte {at}). Convert it first.")
        raise PromptError(told.format(encoding=error.encoding, at=error.start)) from None


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="specviz", description=_("Speculative decoding that can be watched."))
    parser.add_argument("--version", action="version", version=sv.__version__)
    commands = parser.add_subparsers(required=True, metavar=_("command"))
    colors = argparse.ArgumentParser(add_help=False)
    colors.add_argument("--color", choices=("auto", "always", "never"), default="auto", help=_("auto heeds NO_COLOR"))

    def command(
        name: str, run: Callable[[argparse.Namespace], int], told: str, *parents: argparse.ArgumentParser
    ) -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=told, description=told, parents=parents)
        added.set_defaults(command=run)
        return added

    p = command("decode", decode, _("decode a prompt and show each round as it comes"), colors)
    p.add_argument("prompt", help=_("the text to go on from; - reads standard input"))
    p.add_argument("--chat", action="store_true", help=_("the prompt is what a user says: use the chat template"))
    p.add_argument("--system", default="", help=_("with --chat: what the model is told first"))
    p.add_argument("-k", "--draft-length", type=int, default=4, help=_("tokens drafted each round (default 4)"))
    p.add_argument(
        "--pace",
        choices=drafters.PACES,
        default="fixed",
        help=_("how far a round drafts: K; until the draft is unsure; more after a round that stood"),
    )
    p.add_argument("--temperature", type=float, default=1.0, help=_("0 is greedy (default 1)"))
    p.add_argument("--top-k", type=int, help=_("keep the so many most probable tokens"))
    p.add_argument("--top-p", type=float, help=_("keep the most probable tokens up to this mass"))
    p.add_argument("--min-p", type=float, help=_("keep tokens of at least this share of the best one's probability"))
    p.add_argument("--repetition-penalty", type=float, help=_("over 1 makes tokens of prompt and output rarer"))
    p.add_argument("--presence-penalty", type=float, help=_("taken off the logit of each token in the output"))
    p.add_argument("--frequency-penalty", type=float, help=_("the same, as often as the token is there"))
    p.add_argument("--min-new-tokens", type=int, help=_("no end of text before so many"))
    p.add_argument("--bad-word", action="append", default=[], help=_("never write this; can be given again"))
    p.add_argument("--seed", type=int, help=_("the same seed gives the same run (default: a fresh one)"))
    p.add_argument("--max-new-tokens", type=int, default=64, help=_("the most to decode (default 64)"))
    p.add_argument("--stop", action="append", default=[], help=_("end the text before this; can be given again"))
    p.add_argument("--target", help=_("a model's folder, .gguf file or hub id (default: the bundled target)"))
    p.add_argument("--draft", help=_("the same for the draft; or lookup, skipped, uniform: no second model"))
    p.add_argument("--device", default="auto", help=_("auto, cpu, cuda or mps"))
    p.add_argument("--draft-device", help=_("the draft's, where it is another one"))
    p.add_argument("--device-map", choices=("auto",), help=_("auto spreads each model over several GPUs"))
    p.add_argument("--dtype", default="auto", help=_("auto, float32, float16 or bfloat16"))
    p.add_argument("--draft-dtype", help=_("the draft's, where it is another one"))
    p.add_argument("--quantize", choices=("4bit", "8bit"), help=_("weights of so many bits, through bitsandbytes"))
    p.add_argument("--csv", help=_("save a table of all tokens here"))
    p.add_argument("--json", help=_("save the trace here, for replay and measure"))
    p.add_argument("--plain", action="store_true", help=_("decode with the target alone"))
    command("presets", presets, _("list named pairs and whether this machine has the memory for them"))
    p = command("replay", replay, _("show a saved trace as decode showed it"), colors)
    p.add_argument("trace", help=_("a file that decode --json wrote"))
    p = command("measure", measure, _("print what saved traces measure"))
    p.add_argument("traces", nargs="+", metavar="trace", help=_("a file that decode --json wrote"))
    p = command("theory", theory, _("print what the formulas predict"))
    p.add_argument("--alpha", type=float, required=True, help=_("acceptance rate, from 0 to 1"))
    p.add_argument("--cost-ratio", type=float, required=True, help=_("c: time of a target pass over a draft pass"))
    p.add_argument("-k", "--draft-length", type=int, help=_("tokens drafted each round (default: the best)"))
    p = command("serve", serve, _("start the app"))
    p.add_argument("--port", type=int, help=_("where the app listens (default: 8501)"))
    p.add_argument("--address", default="localhost", help=_("who can come (default: this machine; 0.0.0.0: all)"))
    return parser
