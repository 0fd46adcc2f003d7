"""The one place that text for people goes through: `_("...")` returns it in the reader's language.

English is the source language. A catalogue `specviz/locale/<language>/LC_MESSAGES/specviz.mo` adds another one; the
environment's LANGUAGE, LC_ALL, LC_MESSAGES or LANG choose it, as gettext does everywhere. Sentences of errors are for
programmers and logs too, and stay English.
"""

import gettext
from pathlib import Path

_LOCALE = Path(__file__).parent / "locale"
_catalogue = gettext.translation("specviz", _LOCALE, fallback=True)


def _(message: str) -> str:
    """The message in the reader's language. Fill values in afterwards: `_("round {n}").format(n=3)`."""
    return _catalogue.gettext(message)


def language() -> str:
    """The language that the messages are in, as a page names it: "en", "de", "pt-BR"."""
    found = gettext.find("specviz", _LOCALE)
    return Path(found).parts[-3].partition("@")[0].replace("_", "-") if found else "en"
