"""Models of a hub, fetched file by file into the cache of huggingface_hub: what describes them first, then weights.

Only what transformers reads is fetched: settings, tokenizer, chat template and safetensors, never code and no pickle.
"""

from __future__ import annotations

import contextlib
import json
import logging
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from huggingface_hub import HfApi, constants, hf_hub_download, try_to_load_from_cache
from huggingface_hub.errors import HfHubHTTPError, HFValidationError
from huggingface_hub.utils.logging import get_verbosity, set_verbosity

from specviz.errors import LoadError
from specviz.models.progress import Watch, bar_of
from specviz.models.reasons import no_download

ANSWER_S = 5  # how long the hub may take to tell what a model holds

SETTINGS = (
    "generation_config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.json",
    "merges.txt",
    "vocab.txt",
    "tokenizer.model",
    "spiece.model",
    "chat_template.jinja",
    "config.json",
)
WHOLE, INDEX = "model.safetensors", "model.safetensors.index.json"


@dataclass(frozen=True)
class Remote:
    """A model of the hub at one commit. sizes: its files; empty when there is no network and the cache has it all."""

    name: str
    folder: Path
    commit: str
    sizes: dict[str, int | None]

    def fetch_weights(self, watch: Watch) -> None:
        """Bring the safetensors into the folder. Raises LoadError."""
        if not self.sizes:
            return
        if WHOLE in self.sizes:
            self._fetch([WHOLE], watch)
        elif INDEX in self.sizes:
            self._fetch([INDEX], watch)
            self._fetch(shards(self.folder), watch)
        else:
            raise LoadError(
                f"{self.name} has no {WHOLE}, and no other format is read, since pickled weights can run code. "
                "Choose a model that is saved as safetensors."
            )
        latest = self.folder.parents[1] / "refs" / "main"  # where the cache looks when there is no network
        latest.parent.mkdir(exist_ok=True)
        latest.write_text(self.commit, encoding="utf-8", newline="\n")

    def _fetch(self, files: list[str], watch: Watch) -> None:
        for file in files:
            bar = bar_of(self.name, file, self.sizes.get(file), watch)
            try:
                with _plainly():
                    hf_hub_download(self.name, file, revision=self.commit, tqdm_class=bar, etag_timeout=ANSWER_S)
            except Exception as error:
                raise no_download(self.name, error, file) from error


def find(name: str, watch: Watch) -> Remote:
    """The model of this hub id, all its files but the weights in the cache.

    Asks the hub once; where that cannot be reached, what the cache holds whole is taken. Raises LoadError.
    """
    try:
        with _plainly():
            told = HfApi().model_info(name, files_metadata=True, timeout=ANSWER_S)
    except HFValidationError as error:
        raise no_download(name, error) from error
    except Exception as error:
        refused = isinstance(error, HfHubHTTPError) and error.response.status_code < 500
        held = None if refused else _cached(name)
        if held is None:
            raise no_download(name, error) from error
        return held
    sizes = {file.rfilename: file.size for file in told.siblings or ()}
    commit = str(told.sha)
    if "config.json" not in sizes:
        other = any(file.endswith(".gguf") for file in sizes)
        step = "Download one of its .gguf files and name that" if other else "Choose another one"
        raise LoadError(f"{name} of the hub has no config.json, so it is no model of transformers. {step}.")
    held = Remote(name, _folder(name, commit), commit, sizes)
    held._fetch([file for file in SETTINGS if file in sizes], watch)  # config.json last: where it is, all are
    return held


def shards(folder: Path) -> list[str]:
    """The files of weights that an index lists, in its order. Raises LoadError for no index."""
    try:
        listed = json.loads((folder / INDEX).read_text(encoding="utf-8"))["weight_map"].values()
        files = list(dict.fromkeys(str(file) for file in listed))
    except (OSError, ValueError, KeyError, AttributeError, TypeError) as error:
        raise LoadError(f"{folder / INDEX} lists no files ({type(error).__name__}). Download it again.") from None
    if not all(file.endswith(".safetensors") and Path(file).name == file for file in files):
        raise LoadError(f"{folder / INDEX} lists files that are no safetensors beside it. Choose another model.")
    return files


def _cached(name: str) -> Remote | None:
    """The model, where the cache has every file of it."""
    found = try_to_load_from_cache(name, "config.json")
    if not isinstance(found, str):
        return None
    folder = Path(found).parent
    tokenizer = any((folder / file).is_file() for file in ("tokenizer.json", "vocab.json", "tokenizer.model"))
    files = [WHOLE] if (folder / WHOLE).is_file() else shards(folder) if (folder / INDEX).is_file() else [WHOLE]
    return Remote(name, folder, "", {}) if tokenizer and all((folder / file).is_file() for file in files) else None


def _folder(name: str, commit: str) -> Path:
    return Path(constants.HF_HUB_CACHE) / f"models--{name.replace('/', '--')}" / "snapshots" / commit


@contextlib.contextmanager
def _plainly() -> Iterator[None]:
    """huggingface_hub without words on the terminal, and over HTTP.

    Its Xet client would go on with a file after the watcher has raised.
    """
    level, xet = get_verbosity(), constants.HF_HUB_DISABLE_XET
    set_verbosity(logging.ERROR)
    constants.HF_HUB_DISABLE_XET = True
    try:
        yield
    finally:
        set_verbosity(level)
        constants.HF_HUB_DISABLE_XET = xet
