"""Which models decode: a named pair or one of your own, what it needs, and loading it."""

from __future__ import annotations

from dataclasses import replace
from html import escape

import streamlit as st

from specviz import drafters
from specviz.i18n import _
from specviz.models import machine, presets
from specviz.models.machine import Memory, size
from specviz.models.presets import Preset
from specviz.ui import hosting, inputs, jobs, links, loading, pairs, question, state
from specviz.ui.loading import count
from specviz.ui.polling import poll
from specviz.ui.tables import Head, Html, table_html

_LOOK_S = 1.0  # between two looks at a load from another page
_OWN = "own"  # no preset: names that the reader types


def show() -> None:
    left, right = question.begin(
        "models",
        title=_("Which models?"),
        lead=_("A target, and who drafts for it. Any two models of one family, in one vocabulary, or one model alone."),
    )
    settle()
    offered, memory = hosting.presets(), machine.memory()
    with left:
        choice = _choice(offered, memory)
        jobs.button(state.MODELS_JOB, _("Load"), lambda: loading.steps(choice), experiment=False, told=loading.told)
    with right:
        _now(state.get(state.MODELS))
        question.note(_machine(memory))
        st.html(_table(offered, memory))
        if any(preset.gated for preset in offered):
            question.note(
                _(
                    "Gated: its owner asks for consent on the model's page at the hub, and the hub for a token, which"
                    " HF_TOKEN holds."
                )
            )
    question.end(
        source=_(
            "The models' own cards. Tokens are compared one by one when a pair is loaded, and each model's cache is"
            " checked against the model alone."
        ),
        try_this=_("Take one model alone, let it draft with half of its layers, and see what α̂ that gives."),
    )


def settle() -> bool:
    """Take over the models of a load that has ended well. Returns whether one is under way."""
    job: jobs.Job | None = st.session_state.get(state.MODELS_JOB)
    if job is None or job.running:
        return job is not None
    if isinstance(job.value, pairs.Choice):
        state.take(state.MODELS_JOB)
        take(job.value)
    return False


def wait() -> None:
    """On another page: a load under way goes on, is told of, and taken over when it ends."""
    if settle():
        poll(_look, state.get(state.MODELS_JOB), every=_LOOK_S)


def _look(job: jobs.Job) -> None:
    job.seen()
    if not job.running:
        st.rerun()
    told = _("Your models are loading. A run that is started now is decoded by the pair from before.")
    st.html(f'<p class="sv-waiting" role="status">{escape(told)}</p>')


def ways() -> dict[str, str]:
    """The ways to draft without a second model, and the words for them."""
    return {
        "lookup": _("Prompt lookup: copies what followed before"),
        "skipped": _("The target with half of its layers"),
        "uniform": _("Hopeless: every token alike"),
    }


def take(choice: pairs.Choice) -> None:
    """The next runs are decoded by these models."""
    state.put(state.MODELS, choice)
    state.put(state.DRAFT, choice.draft)


def _choice(offered: tuple[Preset, ...], memory: Memory) -> pairs.Choice:
    """What the inputs ask for."""
    words = {preset.name: preset.name for preset in offered}
    if not hosting.hosted():
        words[_OWN] = _("Models of my own")
    asked = inputs.pick(state.MODELS_PAIR, _("Pair"), list(words), named=lambda name: words[name])
    preset = next((one for one in offered if one.name == asked), None)
    choice = _typed() if preset is None else pairs.Choice(preset.target, preset.draft)
    if not (choice.bundled or hosting.hosted()):
        choice = _placed(choice)
    if preset is not None and memory.free is not None:
        needed = preset.needs_bytes(choice.quantize or (memory.dtype if choice.dtype == "auto" else choice.dtype))
        if needed > memory.free:
            told = _("It needs {needed}, more than is free here. Loading may end the app.")
            question.note(told.format(needed=size(needed)))
    return choice


def _typed() -> pairs.Choice:
    told = _("A hub id such as owner/name, a folder, or a GGUF file, on the machine where this app runs.")
    target = inputs.text(state.MODELS_TARGET, _("Target"), presets.TARGET, told=told).strip()
    drafts = {"model": _("Another model")} | ways()
    way = inputs.pick(state.MODELS_WAY, _("Who drafts"), list(drafts), named=lambda name: drafts[name])
    if way == "model":
        return pairs.Choice(target, inputs.text(state.MODELS_DRAFT, _("Draft"), presets.DRAFT, told=told).strip())
    return pairs.Choice(target, way)


def _placed(choice: pairs.Choice) -> pairs.Choice:
    """The choice with where and how its models are held."""
    auto = _("automatic")
    with st.expander(_("Device and precision")):
        places = {"auto": auto, "cpu": "cpu", "cuda": "cuda", "mps": "mps", "spread": _("all GPUs")}
        device = inputs.pick(state.MODELS_DEVICE, _("Device"), list(places), named=lambda name: places[name])
        of_draft = device
        if drafters.named(choice.draft) is None and device != "spread":
            theirs = {"same": _("the same"), "cpu": "cpu", "cuda": "cuda", "mps": "mps"}
            of_draft = inputs.pick(
                state.MODELS_DRAFT_DEVICE, _("The draft's device"), list(theirs), named=lambda name: theirs[name]
            )
        kinds = {name: auto if name == "auto" else name for name in ("auto", "float32", "bfloat16", "float16")}
        dtype = inputs.pick(state.MODELS_DTYPE, _("Numbers"), list(kinds), named=lambda name: kinds[name])
        bits = {"none": _("as they are"), "8bit": _("8 bits"), "4bit": _("4 bits")}
        quantize = inputs.pick(
            state.MODELS_QUANTIZE, _("Weights (bitsandbytes)"), list(bits), named=lambda name: bits[name]
        )
    if device == "spread":
        choice = replace(choice, device_map="auto")
    else:
        choice = replace(choice, device=device if of_draft in ("same", device) else (device, of_draft))
    return replace(choice, dtype=dtype, quantize=None if quantize == "none" else quantize)


def _now(choice: pairs.Choice) -> None:
    """What the next run will be decoded with."""
    way = drafters.named(choice.draft)
    drafts = choice.draft if way is None else way.name
    question.answer(_("Your runs: target {target}, draft {draft}.").format(target=choice.target, draft=drafts))
    if not pairs.is_loaded(choice):
        question.note(_("Another pair has its place in memory at the moment: your next run loads this one again."))
    with st.container(horizontal=True):
        st.page_link(links.watch(), label=_("Watch a run"))
        if not choice.bundled:
            st.button(_("Back to the bundled pair"), on_click=take, args=(pairs.Choice(),), key="bundled_again")


def _table(offered: tuple[Preset, ...], memory: Memory) -> str:
    heads: list[Head] = [
        _("Pair"),
        _("Licence"),
        (_("Memory"), _("Weights of both, and room for the text")),
        _("Fits here"),
        (_("Parameters"), _("The target's + the draft's")),
    ]
    rows = [
        [
            _pair(preset),
            preset.licence + (_(", gated") if preset.gated else ""),
            size(preset.needs_bytes(memory.dtype)),
            _fits(preset, memory),
            " + ".join(count(n) for n in (preset.target_parameters, preset.draft_parameters) if n),
        ]
        for preset in offered
    ]
    return table_html(_("Named pairs"), heads, rows, words=2)


def _pair(preset: Preset) -> Html:
    """Its name, and under it what `load_pair` takes."""
    names = f"{preset.target} + {preset.draft}"
    return Html(f"<b>{escape(preset.name)}</b><br><small>{escape(names)}</small>")


def _fits(preset: Preset, memory: Memory) -> str:
    if not preset.fits(memory):
        return _("no")
    return _("yes, but slow") if preset.for_gpu and memory.device == "cpu" else _("yes")


def _machine(memory: Memory) -> str:
    """What this machine is, in a sentence."""
    if memory.free is None or memory.total is None:
        return _("Here: {name}.").format(name=memory.name)
    return _("Here: {name}, {free} of {total} free; weights in {dtype}.").format(
        name=memory.name, free=size(memory.free), total=size(memory.total), dtype=memory.dtype
    )
