"""What libraries raise while a model is fetched and read, in one sentence each with the next step."""

from __future__ import annotations

import errno

from huggingface_hub import constants
from huggingface_hub.errors import (
    GatedRepoError,
    HfHubHTTPError,
    HFValidationError,
    OfflineModeIsEnabled,
    RepositoryNotFoundError,
)

from specviz.errors import LoadError

_LONGEST = 240  # characters of a library's own words


def no_download(name: str, error: Exception, file: str | None = None) -> LoadError:
    """Why a model of the hub, or one file of it, did not come."""
    what = name if file is None else f"{file} of {name}"
    status = error.response.status_code if isinstance(error, HfHubHTTPError) else None
    if isinstance(error, GatedRepoError) or status == 403:
        return LoadError(
            f"{name} is gated: its owner lets in who has asked. Accept its terms at {constants.ENDPOINT}/{name}, then "
            "log in with `hf auth login` or set HF_TOKEN."
        )
    if status == 401 and "Invalid credentials" in str(error):
        return LoadError(
            f"the hub refused the token that came with the request for {what}. Set HF_TOKEN to one that is still good, "
            "log in with `hf auth login`, or remove both for a public model."
        )
    if isinstance(error, RepositoryNotFoundError) or (status in (401, 404) and file is None):
        return LoadError(
            f"there is no model {name} on the hub, and no folder of that name here. Check the spelling; a private "
            "model needs `hf auth login`."
        )
    if isinstance(error, HFValidationError):
        return LoadError(f"{name[:80]!r} is neither a folder here nor a hub id like owner/name. Check the spelling.")
    if isinstance(error, OfflineModeIsEnabled):
        return LoadError(
            f"{name} is not in the cache ({constants.HF_HUB_CACHE}), and HF_HUB_OFFLINE forbids to fetch it. Unset "
            "that, or give a model's folder."
        )
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return _disk_full(what)
    if isinstance(error, PermissionError):
        return LoadError(f"cannot write {what} into the cache ({error.filename}). Set HF_HOME to a folder of yours.")
    if status is not None:
        return LoadError(f"the hub answered {status} when asked for {what}. Try again later.")
    if "Consistency check failed" in str(error) or file is not None:
        return LoadError(
            f"the download of {what} was cut off ({type(error).__name__}). Load it again: whole files are kept."
        )
    return LoadError(
        f"cannot reach the hub ({constants.ENDPOINT}) for {name}, and it is not in the cache. Check the network, or "
        "give a model's folder."
    )


def torn(name: str, file: str, error: Exception) -> LoadError:
    """Why a file of weights cannot be read."""
    return LoadError(
        f"{name}: {file} is torn or no safetensors file ({_first_line(error)}). Download or save it again."
    )


def not_read(name: str, what: str, error: Exception) -> LoadError:
    """Why a model's files, all there, did not become a model."""
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return _disk_full(name)
    if type(error).__name__ == "OutOfMemoryError" or isinstance(error, MemoryError):
        return LoadError(
            f"{name} does not fit into memory ({_first_line(error)}). Choose a smaller model, dtype='bfloat16' or "
            "quantize='4bit'."
        )
    if isinstance(error, ImportError):
        return LoadError(f"{name}: {what} needs a library that is not here ({_first_line(error)}). Install it.")
    reason = f"{type(error).__name__}: {_first_line(error).rstrip(':.')}"
    return LoadError(f"{name}: cannot load {what} ({reason}). Check its files, or download or save it again.")


def _disk_full(what: str) -> LoadError:
    return LoadError(f"the disk is full, so {what} did not fit ({constants.HF_HUB_CACHE}). Free some, or set HF_HOME.")


def _first_line(error: Exception) -> str:
    """The beginning of an exception that can be pages long, on one line."""
    told = " ".join(str(error).split()) or type(error).__name__
    return told if len(told) <= _LONGEST else told[:_LONGEST].rsplit(" ", 1)[0] + " …"
