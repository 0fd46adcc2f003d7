"""Which models decode: a named pair or one of your own, what it needs, and loading it."""

from __future__ import annotations

import contextlib
from dataclasses import replace

import streamlit as st

from specviz import drafters
from specviz.errors import ConfigError
from specviz.i18n import _
from specviz.models import machine, presets
from specviz.models.presets import Preset
from specviz.ui import hosting, inputs, jobs, links, loading, pairs, question, state
from specviz.ui.loading import count, size
from specviz.ui.tables import Head, table_html

_OWN = "own"  # no preset: names that the reader types


def show() -> None:
    left, right = question.begin(
        "models",
        title=_("Which models?"),
        lead=_("A target, and who drafts for it. Any two models of one family, in one vocabulary, or one model alone."),
    )
    settle()
    offered = tuple(preset for preset in presets.PRESETS if _allowed(preset))
    with left:
        choice = _choice(offered)
        jobs.button(state.MODELS_JOB, _("Load"), lambda: loading.steps(choice), asked=choice, told=loading.told)
    with right:
        _now(state.get(state.MODELS))
        st.html(_table(offered))
        question.note(
            _(
                "Memory: the weights of both models, in bfloat16 on a GPU and float32 on a processor, and some room for"
                " the text. Gated: its owner asks for consent on the model's own page, and for a token (HF_TOKEN)."
            )
        )
    question.end(
        source=_(
            "The models' own cards. Tokens are compared one by one when a pair is loaded, and each model's cache is"
            " checked against the model alone."
        ),
        try_this=_("Take one model alone, let it draft with half of its layers, and see what α̂ that gives."),
    )


def settle() -> None:
    """Take over the models of a load that has ended well; somebody looks at one that is under way."""
    job: jobs.Job | None = st.session_state.get(state.MODELS_JOB)
    if job is None:
        return
    job.seen()
    if not job.running and isinstance(job.value, pairs.Choice):
        state.take(state.MODELS_JOB)
        take(job.value)


def take(choice: pairs.Choice) -> None:
    """The next runs are decoded by these models."""
    state.put(state.MODELS, choice)
    state.put(state.DRAFT, choice.draft)


def _allowed(preset: Preset) -> bool:
    with contextlib.suppress(ConfigError):
        hosting.check_pair(preset.target, preset.draft)
        return True
    return False


def _choice(offered: tuple[Preset, ...]) -> pairs.Choice:
    """What the inputs ask for."""
    words = {preset.name: preset.name for preset in offered}
    if not hosting.hosted():
        words[_OWN] = _("Models of my own")
    asked = inputs.pick(state.MODELS_PAIR, _("Pair"), list(words), named=lambda name: words[name])
    preset = next((one for one in offered if one.name == asked), None)
    choice = _typed() if preset is None else pairs.Choice(preset.target, preset.draft)
    return choice if choice.bundled or hosting.hosted() else _placed(choice)


def _typed() -> pairs.Choice:
    told = _("A hub id such as owner/name, a folder, or a GGUF file, on the machine where this app runs.")
    target = inputs.text(state.MODELS_TARGET, _("Target"), presets.TARGET, told=told).strip()
    ways = {
        "model": _("Another model"),
        "lookup": _("Prompt lookup"),
        "skipped": _("Half of the target's layers"),
        "uniform": _("Hopeless"),
    }
    way = inputs.pick(state.MODELS_WAY, _("Who drafts"), list(ways), named=lambda name: ways[name])
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
    question.answer(_("Your runs are decoded by {target}; {draft} drafts.").format(target=choice.target, draft=drafts))
    if not pairs.is_loaded(choice):
        question.note(_("Another pair has its place in memory at the moment: your next run loads this one again."))
    with st.container(horizontal=True):
        st.page_link(links.watch(), label=_("Watch a run"))
        if not choice.bundled:
            st.button(_("Back to the bundled pair"), on_click=take, args=(pairs.Choice(),), key="bundled_again")


def _table(offered: tuple[Preset, ...]) -> str:
    memory = machine.memory()
    heads: list[Head] = [
        _("Pair"),
        _("Target"),
        _("Who drafts"),
        _("Licence"),
        _("Parameters"),
        (_("Memory"), _("Weights of both, and room for the text")),
        _("Fits here"),
    ]
    rows = [
        [
            preset.name,
            preset.target,
            preset.draft,
            preset.licence + (_(", gated") if preset.gated else ""),
            count(preset.target_parameters)
            + (f" + {count(preset.draft_parameters)}" if preset.draft_parameters else ""),
            size(preset.needs_bytes(memory.dtype)),
            _("yes") if preset.fits(memory) else _("no"),
        ]
        for preset in offered
    ]
    return table_html(_("Named pairs"), heads, rows, words=4, scrolls=True)
