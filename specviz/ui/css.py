"""The style sheet of what the app draws itself. Colours come from `figures.style`, in both themes at once."""

from __future__ import annotations

from functools import cache

from specviz.figures.style import PALETTES

_NAMES = ("draft", "target", "accepted", "rejected", "resampled", "background", "surface", "text", "muted", "line")

_SHEET = """
.stMainBlockContainer { padding: 4rem 2rem 2rem; max-width: 1440px; }
.stMainBlockContainer > .stVerticalBlock { gap: 0.75rem; }
[data-testid="stStatusWidget"] { display: none; }
[data-testid="stBaseButton-primary"]:is(*, :hover, :active, :focus) { background: var(--sv-target);
  border-color: var(--sv-target); color: var(--sv-background); }
[data-testid="stBaseButton-primary"]:hover { filter: brightness(1.15); }
[data-stale="true"] { opacity: 1 !important; }
.stProgress [role="progressbar"] > div, .stProgress [role="progressbar"] > div > div { height: 4px; }
[data-testid="stButtonGroup"] button { min-height: 2.5rem; }

.sv-text { display: flex; flex-direction: column-reverse; max-height: 13.5rem; min-height: 6.25rem; overflow-y: auto;
  border: 1px solid var(--sv-line); border-radius: 6px; background: var(--sv-surface); }
.sv-text > div { padding: 0.75rem 1rem; margin-bottom: auto; font-size: 1.125rem; line-height: 1.85;
  white-space: pre-wrap; overflow-wrap: anywhere; color: var(--sv-text); }
.sv-prompt, .sv-quiet { color: var(--sv-muted); }
.sv-accepted, .sv-resampled, .sv-bonus { text-underline-offset: 0.28em; text-decoration-skip-ink: none; }
.sv-accepted { text-decoration: underline solid 2px var(--sv-accepted); }
.sv-resampled { text-decoration: underline wavy 1.5px var(--sv-resampled); }
.sv-bonus { text-decoration: underline double 2px var(--sv-target); }
.sv-break::before { content: "⏎"; color: var(--sv-muted); font-size: 0.75em; }

.sv-legend { margin-top: 0.5rem; display: flex; flex-wrap: wrap; gap: 0.25rem 1.25rem; font-size: 0.875rem;
  color: var(--sv-text); }
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
.sv-table tr.sv-unjudged { color: var(--sv-muted); }
.sv-chip { display: inline-block; padding: 0 0.4rem; border: 2px solid var(--sv-line); border-radius: 5px;
  font-family: "Source Code Pro", ui-monospace, monospace; font-size: 0.875rem;
  white-space: pre; unicode-bidi: isolate; }
.sv-chip.sv-is-accepted { border-color: var(--sv-accepted); }
.sv-chip.sv-is-rejected { border: 2px dashed var(--sv-rejected); text-decoration: line-through; }
.sv-chip.sv-is-unjudged { border: 2px dashed var(--sv-draft); }
.sv-chip.sv-is-resampled { border-color: var(--sv-resampled); }
.sv-chip.sv-is-bonus { border: 4px double var(--sv-target); }

.sv-caption { margin: 0.5rem 0 0; color: var(--sv-text); }
.sv-lead { max-width: 46rem; font-size: 1.25rem; line-height: 1.5; margin: 0 0 1.25rem; color: var(--sv-text); }
.sv-steps { list-style: none; margin: 0 !important; padding: 0 !important; display: grid; gap: 1rem;
  grid-template-columns: repeat(auto-fit, minmax(15rem, 1fr)); }
.sv-steps li { margin: 0; padding: 1rem; border: 2px solid var(--sv-line); border-radius: 6px; color: var(--sv-text); }
.sv-steps b { display: block; margin-bottom: 0.25rem; font-size: 1.0625rem; }
.sv-steps .sv-is-draft { border: 2px dashed var(--sv-draft); }
.sv-steps .sv-is-target { border-color: var(--sv-target); }
.sv-steps .sv-is-accepted { border-color: var(--sv-accepted); }
.sv-steps .sv-is-resampled { border-color: var(--sv-resampled); }
.st-key-to_watch { margin-top: 1rem; }
.st-key-to_watch a { background: var(--sv-target); border-radius: 6px; padding: 0.5rem 1rem; }
.st-key-to_watch a p { color: var(--sv-background); font-weight: 600; }

.sv-formula { margin: 0.25rem 0 0; color: var(--sv-muted); font-variant-numeric: tabular-nums; }
"""


@cache
def sheet() -> str:
    light, dark = PALETTES["light"], PALETTES["dark"]
    colours = "".join(f"--sv-{n}: light-dark({getattr(light, n)}, {getattr(dark, n)});" for n in _NAMES)
    return f".stApp {{ {colours} }}{_SHEET}"
