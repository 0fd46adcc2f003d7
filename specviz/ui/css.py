"""The style sheet of what the app draws itself. Colours come from `figures.style`, in both themes at once."""

from __future__ import annotations

import json
from functools import cache

from specviz.figures.style import PALETTES
from specviz.i18n import _

_NAMES = ("draft", "target", "accepted", "rejected", "resampled", "background", "surface", "text", "muted", "line")

_SHEET = """
.stMainBlockContainer { padding: 4.25rem 2rem 2rem; max-width: 1720px; }
.stMainBlockContainer > .stVerticalBlock { gap: 0.75rem; }
@media (max-width: 640px) { .stMainBlockContainer { padding: 4.25rem 1rem 1rem; } }
[data-testid="stStatusWidget"] { display: none; }
[data-testid="stBaseButton-primary"]:is(*, :hover, :active, :focus) { background: var(--sv-target);
  border-color: var(--sv-target); color: var(--sv-background); }
[data-testid="stBaseButton-primary"]:hover { filter: brightness(1.15); }
[data-stale="true"] { opacity: 1 !important; }
[data-testid="stButtonGroup"] button { min-height: 2.5rem; }

.sv-accepted, .sv-resampled, .sv-bonus { text-underline-offset: 0.28em; text-decoration-skip-ink: none; }
.sv-accepted { text-decoration: underline solid 2px var(--sv-accepted); }
.sv-resampled { text-decoration: underline wavy 1.5px var(--sv-resampled); }
.sv-bonus { text-decoration: underline double 2px var(--sv-target); }

.sv-progress { margin: 0; color: var(--sv-muted); font-size: 0.875rem; font-variant-numeric: tabular-nums; }
.sv-waiting { margin: 0; padding: 0.85rem 1rem; border-radius: 6px; background: var(--sv-surface);
  color: var(--sv-text); }
[data-testid="stElementContainer"]:has(.sv-hidden) { position: absolute; }
.sv-hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
.st-key-settings { row-gap: 0.375rem; }
.st-key-settings > :has(textarea) { min-width: 16rem; flex: 1 1 16rem; }
.st-key-settings textarea { min-height: 68px; }
.sv-numbers { display: grid; grid-template-columns: repeat(auto-fit, minmax(13rem, 1fr)); gap: 0.5rem 1.5rem;
  margin: 0 !important; padding: 0 !important; }
.sv-numbers div { border-left: 3px solid var(--sv-line); padding-left: 0.75rem; }
.sv-numbers dt { font-size: 0.875rem; color: var(--sv-muted); }
.sv-numbers dd { margin: 0; color: var(--sv-text); font-variant-numeric: tabular-nums; }
.sv-numbers strong { font-size: 1.25rem; font-weight: 600; margin-right: 0.35rem; }

.sv-table { overflow-x: auto; }
.sv-table table { border-collapse: collapse; width: 100%; font-size: 0.875rem; color: var(--sv-text);
  font-variant-numeric: tabular-nums; }
.sv-table th { font-weight: 600; color: var(--sv-muted); white-space: nowrap; }
.sv-table th, .sv-table td { padding: 0.4rem 0.375rem; border: 0; border-bottom: 1px solid var(--sv-line);
  text-align: right; white-space: nowrap; }
.sv-table .sv-left { text-align: left; }
.sv-table tr.sv-final td { border-top: 2px solid var(--sv-muted); }
.sv-table tr.sv-unjudged-row { color: var(--sv-muted); }
.sv-chip { display: inline-block; padding: 0 0.4rem; border: 2px solid var(--sv-line); border-radius: 5px;
  font-family: "Source Code Pro", ui-monospace, monospace; font-size: 0.875rem;
  white-space: pre; unicode-bidi: isolate; }
.sv-chip.sv-is-accepted { border-color: var(--sv-accepted); }
.sv-chip.sv-is-rejected { border: 2px dashed var(--sv-rejected); text-decoration: line-through; }
.sv-chip.sv-is-unjudged { border: 2px dashed var(--sv-draft); }
.sv-chip.sv-is-resampled { border-color: var(--sv-resampled); }
.sv-chip.sv-is-bonus { border: 4px double var(--sv-target); }

.sv-table caption { text-align: left; font-weight: 600; padding: 0.35rem 0; color: var(--sv-text); }
.sv-muted { color: var(--sv-muted); }
.sv-asks { margin: 0; font-size: 1.0625rem; line-height: 1.35; color: var(--sv-text); overflow-wrap: anywhere; }
.sv-said { margin: 0; padding: 0.4rem 0.7rem; border-left: 4px solid var(--sv-line); background: var(--sv-surface);
  color: var(--sv-text); font-size: 0.875rem; line-height: 1.35; overflow-wrap: anywhere; }
.sv-said span { display: block; font-variant-numeric: tabular-nums; }
.st-key-hand_answer [data-testid="InputInstructions"] { display: none; }
.sv-said-yes { border-color: var(--sv-accepted); }
.sv-said-no { border-color: var(--sv-rejected); border-left-style: dashed; }

.st-key-welcome { column-gap: 1rem; }
.st-key-welcome > :first-child { flex: 1 1 30rem; }
.sv-title { font-size: 1.625rem !important; line-height: 1.2 !important; margin: 0 !important; padding: 0 !important;
  color: var(--sv-text); }
.sv-lead { font-size: 1.0625rem; line-height: 1.4; margin: 0.25rem 0 0; color: var(--sv-text); }
.sv-told { margin: 0.25rem 0 0; font-size: 0.875rem; line-height: 1.35; color: var(--sv-muted); }
.sv-answer { margin: 0 0 0.5rem; font-size: 1.125rem; line-height: 1.4; color: var(--sv-text); }
[class*="_save"] > * button, [class*="_presets"] > * button { min-height: 0; padding: 0.2rem 0.6rem;
  font-size: 0.875rem; }
.sv-part { font-size: 1.0625rem !important; margin: 0.5rem 0 0 !important; padding: 0 !important;
  color: var(--sv-text); }
[data-testid="stMarkdown"]:has(.katex-display) { overflow: auto hidden; padding-block: 0.25rem; }
.stMainBlockContainer .katex-display { overflow: visible; }
.sv-heat.sv-legend { overflow: visible; }
.sv-foot { margin: 0.35rem 0 0; font-size: 0.875rem; line-height: 1.4; color: var(--sv-muted); }
.sv-foot b { color: var(--sv-text); }
.st-key-welcome a { background: var(--sv-surface); border: 1px solid var(--sv-line); border-radius: 6px;
  padding: 0.4rem 0.9rem; }
.st-key-welcome a p { color: var(--sv-text); font-weight: 600; }
.st-key-welcome > :nth-child(2) a { background: var(--sv-target); border-color: var(--sv-target); }
.st-key-welcome > :nth-child(2) a p { color: var(--sv-background); }
"""


# Streamlit's own dialog for a lost server speaks to developers, and covers a stage that needs no server to go on.
_LOST = """
body:has(.stApp:not([data-test-connection-state="CONNECTED"])) .stDialog { display: none; }
.stApp:not([data-test-connection-state="CONNECTED"])::after { content: SENTENCE; position: fixed; z-index: 999999;
  left: 50%; top: 0.5rem; transform: translateX(-50%); width: max-content; max-width: 90vw; padding: 0.5rem 1rem;
  border-radius: 6px; background: var(--sv-text); color: var(--sv-background); font-size: 1rem; }
"""
_BARE = """
header[data-testid="stHeader"] { display: none; }
.stMainBlockContainer { padding: 0; max-width: none; }
.stMain { overflow: hidden; }
"""


@cache
def sheet(*, chrome: bool = True) -> str:
    """The rules of every page. chrome: False leaves the whole window to the stage."""
    light, dark = PALETTES["light"], PALETTES["dark"]
    colours = "".join(f"--sv-{n}: light-dark({getattr(light, n)}, {getattr(dark, n)});" for n in _NAMES)
    told = _("The server does not answer. What is here stays and can be played; it comes back by itself.")
    lost = _LOST.replace("SENTENCE", json.dumps(told, ensure_ascii=False))
    return f".stApp {{ {colours} }}{_SHEET}{lost}{'' if chrome else _BARE}"
