"""What a visitor may ask of this server: wide limits on one's own machine, tight ones where SPECVIZ_HOSTED is set.

    SPECVIZ_HOSTED=1      a public page: tight limits, and only the bundled pair with all ways to draft
    SPECVIZ_PAIRS="A; B"  names of `models.presets`, by semicolon, whose pairs it allows too

Each refusal is one sentence with the limit in it, said before anything is loaded.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass

from specviz import drafters
from specviz.errors import ConfigError, TraceError
from specviz.i18n import _
from specviz.models.presets import NAMED, PRESETS, TARGET, Preset

_log = logging.getLogger(__name__)

_NO = ("", "0", "false", "no", "off")
_WAYS = frozenset(drafters.NAMES)


@dataclass(frozen=True, slots=True)
class Limits:
    """The most of everything.

    places: drafts and final draws of one opened file. kept, kept_bytes: runs and opened files that the server keeps.
    work_s: seconds in which one run has its turn, waiting not counted. decoding: runs that take turns; waiting: runs
    that wait until one of them has ended. jobs, job_s: experiments of all visitors at a time, and seconds of one.
    pairs: (target, draft) that may be loaded, a draft of None for every way to draft without a model; None allows all.
    """

    prompt_characters: int
    new_tokens: int
    draft_length: int
    upload_bytes: int
    places: int
    kept: int
    kept_bytes: int
    work_s: float
    decoding: int
    waiting: int
    jobs: int
    job_s: float
    pairs: frozenset[tuple[str, str | None]] | None


_OWN = Limits(
    prompt_characters=1_000_000,
    new_tokens=4096,
    draft_length=16,
    upload_bytes=20 * 2**20,
    places=200_000,
    kept=32,
    kept_bytes=2**30,
    work_s=3600.0,
    decoding=8,
    waiting=64,
    jobs=8,
    job_s=3600.0,
    pairs=None,
)


def _hosted(pairs: frozenset[tuple[str, str | None]]) -> Limits:
    return Limits(
        prompt_characters=4000,
        new_tokens=256,
        draft_length=16,
        upload_bytes=2 * 2**20,
        places=5000,
        kept=64,
        kept_bytes=256 * 2**20,
        work_s=60.0,
        decoding=4,
        waiting=32,
        jobs=2,
        job_s=60.0,
        pairs=pairs,
    )


def _pair(target: str, draft: str) -> tuple[str, str | None]:
    """As in `Limits.pairs`."""
    return target, None if draft.lower() in _WAYS else draft


def read(environ: Mapping[str, str] = os.environ) -> Limits:
    """The limits that the environment asks for."""
    if environ.get("SPECVIZ_HOSTED", "").strip().lower() in _NO:
        return _OWN
    named = {preset.name: preset for preset in PRESETS}
    allowed: set[tuple[str, str | None]] = {(TARGET, None)} | {(TARGET, name) for name in NAMED if name != TARGET}
    for name in filter(None, map(str.strip, environ.get("SPECVIZ_PAIRS", "").split(";"))):
        if name not in named:
            told = "SPECVIZ_PAIRS holds %r, which is left out. It takes names by semicolon, of: %s"
            _log.error(told, name, "; ".join(named))
            continue
        allowed |= {(named[name].target, None), _pair(named[name].target, named[name].draft)}
    return _hosted(frozenset(allowed))


LIMITS = read()


def hosted() -> bool:
    """Whether this is a public page."""
    return LIMITS.pairs is not None


def presets() -> tuple[Preset, ...]:
    """The named pairs that this server may load."""
    return tuple(one for one in PRESETS if LIMITS.pairs is None or _pair(one.target, one.draft) in LIMITS.pairs)


def check_pair(target: str, draft: str) -> None:
    """Raises ConfigError unless this server may load these two. draft: a model, or a way to draft without one."""
    if LIMITS.pairs is not None and _pair(target, draft) not in LIMITS.pairs:
        told = _("this server does not load {target} with {draft}. It has: {pairs}. Run specviz yourself for others.")
        names = "; ".join(preset.name for preset in presets())
        raise ConfigError(told.format(target=target[:100], draft=draft[:100], pairs=names))


def check_run(prompt: str, *, draft_length: int, max_new_tokens: int) -> None:
    """Raises ConfigError when more is asked for than this server gives."""
    for asked, most, told in (
        (len(prompt), LIMITS.prompt_characters, _("the prompt has {asked} characters, and this server reads {most}.")),
        (draft_length, LIMITS.draft_length, _("the draft length K is {asked}, and this server goes up to {most}.")),
        (max_new_tokens, LIMITS.new_tokens, _("{asked} new tokens are asked for; this server decodes {most}.")),
    ):
        if asked > most:
            raise ConfigError(told.format(asked=f"{asked:,}", most=f"{most:,}"))


def check_waiting(n: int) -> None:
    """Raises ConfigError when so many runs wait that one more would wait too long."""
    if n >= LIMITS.waiting:
        raise ConfigError(_("the line of runs is full ({n} wait). Try again in a minute.").format(n=n))


def check_upload(n_bytes: int) -> None:
    """Raises TraceError for a file that is too large to be read."""
    if n_bytes > LIMITS.upload_bytes:
        raise TraceError(
            _("the file has {size:.1f} MB, and this server opens {most:.0f} MB at most.").format(
                size=n_bytes / 2**20, most=LIMITS.upload_bytes / 2**20
            )
        )


def check_places(n: int) -> None:
    """Raises TraceError for a trace of so many drafts and final draws that showing it would hold up others."""
    if n > LIMITS.places:
        raise TraceError(
            _("the file holds {n:,} drafts and final draws, and this server shows {most:,} at most.").format(
                n=n, most=LIMITS.places
            )
        )
