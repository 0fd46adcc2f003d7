"""One HTML file that holds the stage and a trace, and the stage's code joined into one script.

The code is in `ui/stage/`: modules that node and browsers load as they are.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from functools import cache
from html import escape
from pathlib import Path

from specviz.consistency import check_made
from specviz.files import Target, save
from specviz.i18n import _, language
from specviz.records import Trace
from specviz.replay.payload import payload
from specviz.timeline import label

_STAGE = Path(__file__).parents[1] / "ui" / "stage"
_SHEETS = ("stage", "panels", "sizes")  # later ones adjust the earlier
_IMPORT = re.compile(r'^import [^;]*? from "\./([a-z]+)\.mjs";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:const|async|function|class) )", re.MULTILINE)

_PAGE = """<!doctype html>
<html lang="{language}" class="stage-page">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<main><h1>{title}</h1></main>
<script type="application/json" id="trace">{data}</script>
<script type="module">{code}</script>
</body>
</html>
"""


def to_html(trace: Trace, path_or_buffer: Target = None, *, talk: bool = False) -> str | None:
    """One HTML page with the stage and this trace: to a path, to an open file, or returned when neither is given.

    It opens from disk with no server, and its own policy forbids every connection.
    talk: large text, for a projector, and the keys of a talk.
    Raises TraceError when the file cannot be written.
    """
    page = _page(trace, talk=talk)
    return save(path_or_buffer, lambda path: path.write_text(page, encoding="utf-8", newline="\n") if path else page)


def _page(trace: Trace, *, talk: bool = False) -> str:
    check_made(trace)
    code = f"{script()}\nopenPage(document);\n"
    data = {"payload": payload(trace), "talk": bool(talk), "page": True}
    return _PAGE.format(
        language=language(),
        title=escape(_("Speculative decoding: {prompt}").format(prompt=label(0, trace.prompt, 60))),
        policy=(
            f"default-src 'none'; script-src {_hash(code)}; style-src {_hash(style())}; img-src data: blob:; "
            "base-uri 'none'; form-action 'none'"
        ),
        style=style(),
        data=inert(data),
        code=code,
    )


def frame(trace: Trace) -> str:
    """The page in a frame of its own, for a notebook: it can run its script and save pictures, and nothing else."""
    return (
        f'<iframe title="{escape(_("Speculative decoding, step by step"))}" sandbox="allow-scripts allow-downloads" '
        f'style="width:100%;height:720px;border:0" srcdoc="{escape(_page(trace))}"></iframe>'
    )


def inert(data: object) -> str:
    """JSON that a script element can hold: no text in it ends the element, opens a comment or breaks a line."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return "".join(c if not 0xD800 <= ord(c) <= 0xDFFF else f"\\u{ord(c):04x}" for c in text)


@cache
def script(entry: str = "main") -> str:
    """The stage's modules as one: what they import comes before them, and the lines that import are gone.

    entry: the module to begin with, of those in `ui/stage/`.
    """
    joined: list[str] = []
    seen: set[str] = set()

    def add(name: str) -> None:
        if name not in seen:
            seen.add(name)
            source = (_STAGE / f"{name}.mjs").read_text(encoding="utf-8")
            for needed in _IMPORT.findall(source):
                add(needed)
            joined.append(_EXPORT.sub("", _IMPORT.sub("", source)).strip())

    add(entry)
    return "\n".join(joined)


@cache
def style() -> str:
    return "\n".join((_STAGE / f"{name}.css").read_text(encoding="utf-8") for name in _SHEETS)


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
