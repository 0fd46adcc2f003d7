"""Every error that specviz raises on purpose.

    SpecvizError
    ├── ConfigError          a setting is out of range                    (also a ValueError)
    ├── PromptError          the prompt cannot be decoded from            (also a ValueError)
    ├── ModelError           a model cannot be used
    │   ├── LoadError        it cannot be loaded
    │   ├── VocabularyError  draft and target do not share a vocabulary
    │   └── LogitsError      it answered with something that is no law
    └── TraceError           a file or a table is not a trace of ours     (also a ValueError)

Each message is one sentence or two that a user can act on: what, got, allowed, next step.
"""

_LONGEST = 80  # characters of a value in a message


def brief(value: object) -> str:
    """A value as a message shows it: on one line, its middle left out where it is long."""
    try:
        told = " ".join(line.strip() for line in repr(value).splitlines())
    except Exception:  # a whole number of too many digits, or whatever somebody's __repr__ raises
        told = f"a {type(value).__name__} that cannot be shown"
    return told if len(told) <= _LONGEST else f"{told[: _LONGEST - 20]} … {told[-17:]}"


class SpecvizError(Exception):
    """Root of the tree: catch this to catch them all."""


class ConfigError(SpecvizError, ValueError):
    """A setting is out of its range."""


class PromptError(SpecvizError, ValueError):
    """The prompt is empty, too long, or holds ids that the model does not know."""


class ModelError(SpecvizError):
    """A model cannot be used."""


class LoadError(ModelError):
    """A model cannot be loaded: no such folder, no network, a lost shard."""


class VocabularyError(ModelError, ValueError):
    """Draft and target do not share a vocabulary."""


class LogitsError(ModelError):
    """A model answered with NaN, with infinity, or with nothing at all possible."""


class TraceError(SpecvizError, ValueError):
    """A file or a record is not a trace that this version reads."""
