"""The example runs: each is what its settings give now, shows what it was chosen for, and is shown without torch."""

import dataclasses
import json
import subprocess
import sys
from pathlib import Path

import pytest

import specviz as sv
from specviz import examples, export, replay
from specviz.models.presets import DRAFT, NAMED, TARGET, WEAK_DRAFT

ROOT = Path(__file__).parent.parent
TIMES = {"draft_s", "verify_s", "round_s", "total_s"}
EXACT = {"uniform", "r", "temperature"}
# Of what float32 logits decide. Decoded anew with as many threads it was the same bit for bit; with one or two threads,
# with AVX2 or SSE, it differed by at most 1.6e-5, in a residual_prob, which a small 1 - beta magnifies.
ATOL = 1e-4
BY_NAME = {example.name: example for example in examples.EXAMPLES}
each = pytest.mark.parametrize("name", examples.NAMES)


def differences(one: object, other: object, place: str = "trace") -> list[str]:
    """Where two records differ: probabilities by more than ATOL, times never, everything else at all."""
    if dataclasses.is_dataclass(one) and type(one) is type(other):
        fields = [f.name for f in dataclasses.fields(one) if f.name not in TIMES]
        return [d for f in fields for d in differences(getattr(one, f), getattr(other, f), f"{place}.{f}")]
    if isinstance(one, tuple) and isinstance(other, tuple) and len(one) == len(other):
        return [d for i, (a, b) in enumerate(zip(one, other, strict=True)) for d in differences(a, b, f"{place}[{i}]")]
    if isinstance(one, float) and isinstance(other, float) and place.rpartition(".")[2] not in EXACT:
        return [] if one == other or abs(one - other) <= ATOL else [f"{place}: {one} is not {other}"]
    return [] if one == other else [f"{place}: {one!r} is not {other!r}"]


@pytest.fixture(scope="module")
def weak() -> sv.Pair:
    return sv.load_pair(draft=WEAK_DRAFT)


@pytest.fixture(params=examples.NAMES)
def decoded(request, pair, weak):
    """An example, and both its runs decoded now."""
    example = BY_NAME[request.param]
    models = {DRAFT: pair, WEAK_DRAFT: weak}[example.draft]
    given = {"max_new_tokens": example.max_new_tokens, "sampling": example.sampling, "seed": example.seed}
    trace = sv.speculate(models, example.prompt, draft_length=example.draft_length, **given)
    return example.name, trace, sv.autoregress(models, example.prompt, **given)


def test_every_example_is_what_its_settings_give(decoded):
    name, trace, alone = decoded
    assert differences(examples.load(name), trace) == []
    assert differences(examples.alone(name), alone) == []


@pytest.mark.parametrize(
    ("part", "field", "change"),
    [("trials", "r", 1e-9), ("nodes", "uniform", 1e-12), ("nodes", "below", -2e-4), ("trials", "target_prob", 2e-4)],
)
def test_a_changed_number_is_found(part, field, change):
    trace = examples.load("prose")
    round_ = trace.rounds[0]
    first, *others = getattr(round_, part)
    first = dataclasses.replace(first, **{field: getattr(first, field) + change})
    round_ = dataclasses.replace(round_, **{part: (first, *others)})
    (found,) = differences(trace, dataclasses.replace(trace, rounds=(round_, *trace.rounds[1:])))
    assert found.startswith(f"trace.rounds[0].{part}[0].{field}: ")


def test_a_changed_token_in_the_file_is_found():
    raw = json.loads(examples.path("code").read_text(encoding="utf-8"))
    node = raw["rounds"][1]["nodes"][2]
    row = next(c for c in node["candidates"] if c["token"] == node["token"])
    node["token"] = row["token"] = 2047
    found = differences(examples.load("code"), export.from_json(json.dumps(raw)))
    assert any("rounds[1].nodes[2].token" in place for place in found)


@pytest.mark.parametrize(
    "change", [{"seed": 327}, {"max_new_tokens": 20}, {"draft_length": 3}, {"sampling": sv.Sampling(0.61)}]
)
def test_changed_settings_are_found(pair, change):
    example = BY_NAME["prose"]
    given = {f: getattr(example, f) for f in ("draft_length", "max_new_tokens", "sampling", "seed")} | change
    assert differences(examples.load("prose"), sv.speculate(pair, example.prompt, **given))


@each
def test_the_record_holds_the_settings(name):
    example, trace, alone = BY_NAME[name], examples.load(name), examples.alone(name)
    assert example.draft in NAMED
    assert (trace.target, trace.draft, alone.target, alone.draft) == (TARGET, example.draft, TARGET, None)
    assert (trace.draft_length, alone.draft_length) == (example.draft_length, 0)
    for run in (trace, alone):
        assert (run.prompt, run.sampling, run.seed) == (example.prompt, example.sampling, example.seed)
        assert len(run.tokens) == example.max_new_tokens  # the race is over equal distances
        assert run.stop_reason == "length"
        assert 0 < sum(r.round_s for r in run.rounds) <= run.total_s


@pytest.mark.parametrize("name", ["prose", "code"])
def test_the_first_two_rounds_of_prose_and_code_teach(name):
    one, two = examples.load(name).rounds[:2]
    assert 1 <= len(one.accepted) < len(one.nodes)
    assert one.final.source == "residual"
    assert one.final.prob > 0.15
    own = next(c for c in one.final.candidates if c.token == one.final.token)
    assert own.target_prob > 2 * own.draft_prob  # the draft underrated what replaces its token
    assert len(two.accepted) == len(two.nodes) == 4
    assert two.final.source == "bonus"
    judged = [(r.nodes[t.node], t) for r in (one, two) for t in r.trials]
    assert all(node.draft_prob > 0.02 and trial.target_prob > 0.02 for node, trial in judged)
    assert any(t.accept_prob < 1 and t.accepted for _, t in judged)  # luck that p < q still allows


def test_prose_shows_each_way_a_round_can_end():
    lengths = {len(r.emitted) for r in examples.load("prose").rounds}
    assert lengths == {1, 2, 3, 4, 5}


def test_hopeless_brings_one_token_a_pass():
    trace = examples.load("hopeless")
    assert sum(len(r.emitted) == 1 for r in trace.rounds) >= 0.9 * len(trace.rounds)
    assert sv.measure.alpha(trace).estimate < 0.25
    assert sv.measure.compare(trace, examples.alone("hopeless")).predicted < 1  # drafting does not pay


def test_greedy_has_no_chance_in_it():
    trace = examples.load("greedy")
    assert trace.sampling.greedy
    drawn = [d for r in trace.rounds for d in (*r.nodes, r.final)]
    assert all(d.target_gap is not None and d.target_gap > 0 for d in drawn)
    assert {t.accept_prob for r in trace.rounds for t in r.trials} == {0, 1}
    assert sv.measure.first_difference(trace, examples.alone("greedy")) is None


def test_full_ends_nearly_every_round_with_a_bonus():
    trace = examples.load("full")
    assert sum(r.final.source == "bonus" for r in trace.rounds) >= 0.9 * len(trace.rounds)
    assert sv.measure.tokens_per_round(trace).estimate > 3.5


@each
def test_every_example_reads_as_text(name):
    for run in (examples.load(name), examples.alone(name)):
        assert run.text.isascii()
        assert run.text.replace("\n", "").isprintable()


@each
def test_every_example_replays_in_a_small_page(name):
    for run in (examples.load(name), examples.alone(name)):
        assert len(replay.payload(run)["rounds"]) == len(run.rounds)
        assert len(run.to_html().encode()) < 300_000


def test_all_files_are_small_and_none_is_left_over():
    files = {path: path.stat().st_size for path in examples.path("prose").parent.glob("*.json")}
    assert set(files) == {examples.path(name, alone=alone) for name in examples.NAMES for alone in (False, True)}
    assert sum(files.values()) < 1_000_000


def test_titles_and_sentences_differ():
    for words in (examples.title, examples.told):
        assert len({words(name) for name in examples.NAMES}) == len(examples.NAMES)
    assert all(examples.told(name).endswith(".") for name in examples.NAMES)


@pytest.mark.parametrize("ask", [examples.load, examples.alone, examples.title, examples.told, examples.path])
@pytest.mark.parametrize("name", ["", "Prose", "../prose", "prose-alone", None, 3])
def test_an_unknown_name_gets_one_clear_sentence(ask, name):
    with pytest.raises(
        sv.ConfigError, match=r"there is no example .*\. Choose one of prose, code, hopeless, greedy, full"
    ):
        ask(name)


def test_loading_needs_no_torch_and_is_done_once():
    code = (
        "import sys; from specviz import examples, replay; "
        "[replay.payload(run(n)) for n in examples.NAMES for run in (examples.load, examples.alone)]; "
        "assert examples.load('prose') is examples.load('prose'); "
        "heavy = {'torch', 'transformers', 'streamlit', 'plotly', 'pandas'} & set(sys.modules); assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, timeout=120)


def test_the_command_writes_what_it_decodes(pair, tmp_path, monkeypatch, capsys):
    """`python -m specviz.examples` with short runs, into another folder."""
    from specviz.examples import __main__ as command

    short = tuple(dataclasses.replace(e, max_new_tokens=6, draft=DRAFT) for e in examples.EXAMPLES)
    monkeypatch.setattr(examples, "EXAMPLES", short)
    monkeypatch.setattr(examples, "path", lambda name, *, alone=False: tmp_path / f"{name}{alone}.json")
    monkeypatch.setattr(command, "pair", lambda _: pair)
    assert command.main() == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:3] for line in lines] == [[e.name, "6", "tokens"] for e in short]
    for e in short:
        trace, alone = (sv.Trace.from_json(tmp_path / f"{e.name}{plain}.json") for plain in (False, True))
        assert (trace.seed, trace.draft_length, alone.draft_length) == (e.seed, e.draft_length, 0)
        assert len(trace.tokens) == len(alone.tokens) == 6


def test_the_kept_run_is_the_one_in_the_middle():
    from specviz.examples.__main__ import median

    runs = [dataclasses.replace(examples.load("prose"), total_s=s) for s in (3.0, 1.0, 2.0)]
    assert median(runs).total_s == 2.0
