"""Arguments checked and broadcast, in one place for every formula."""

from __future__ import annotations

import sys
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from specviz.errors import ConfigError, brief
from specviz.records import is_whole
from specviz.sampling import Floats

Bools = npt.NDArray[np.bool_]
Numbers: TypeAlias = Any  # a float for numbers, an array for arrays; Any, as numpy types its ufuncs: no cast needed

_LEAST, _MOST = sys.float_info.min, sys.float_info.max
RANGES = {  # name -> (least, most, what is allowed)
    "alpha": (0.0, 1.0, "must lie in [0, 1]"),
    "cost_ratio": (_LEAST, np.inf, "(c = T_p/T_q) must be positive"),
    "draft_length": (0.0, _MOST, "(K) must be finite and at least 0"),
    "target_s": (0.0, _MOST, "must be a finite number of seconds, at least 0"),
    "draft_s": (0.0, _MOST, "must be a finite number of seconds, at least 0"),
    "operation_ratio": (0.0, _MOST, "must be finite and at least 0"),
    "surcharge": (0.0, _MOST, "must be finite and at least 0"),
    "share": (0.0, 1.0, "must lie in [0, 1]"),
    "spread": (0.0, 1.0, "must lie in [0, 1]"),
    "persistence": (0.0, 1.0, "must lie in [0, 1]"),
    "within": (0.0, 1.0, "must lie in [0, 1]"),
}


def check_laws(target_probs: npt.ArrayLike, draft_probs: npt.ArrayLike) -> tuple[Floats, Floats]:
    """Both as float64 arrays of one shape, [..., V]. Raises ConfigError when either is no law, or they do not fit."""
    p, q = _law("target_probs", target_probs), _law("draft_probs", draft_probs)
    if p.shape[-1] != q.shape[-1]:
        raise ConfigError(f"target_probs and draft_probs must share a vocabulary, got shapes {p.shape} and {q.shape}")
    p, q = broadcast(target_probs=p, draft_probs=q)
    return p, q


def _law(name: str, value: npt.ArrayLike) -> Floats:
    probs = numbers(name, value)
    if probs.ndim == 0 or probs.size == 0:
        raise ConfigError(f"{name} must hold at least one probability along its last axis, got shape {probs.shape}")
    require(name, probs, probs >= 0, "must be probabilities of at least 0")
    totals = probs.sum(axis=-1)
    require(name, totals, np.abs(totals - 1.0) <= 1e-6, "must sum to 1 (to 1e-6) along its last axis")
    return probs


def read(**given: npt.ArrayLike) -> tuple[Floats, ...]:
    """The arguments as float64 arrays of one shape, each checked against `RANGES`."""
    checked = {}
    for name, value in given.items():
        least, most, allowed = RANGES[name]
        checked[name] = values = numbers(name, value)
        require(name, values, (values >= least) & (values <= most), allowed)
    return broadcast(**checked)


def numbers(name: str, value: npt.ArrayLike) -> Floats:
    try:
        values = np.asarray(value)
    except Exception:  # a ragged list, or whatever something that is no array raises
        values = np.asarray(None)
    if values.dtype.kind not in "iuf":
        raise ConfigError(f"{name} must be a number or an array of numbers, got {brief(value)}")
    return values.astype(np.float64)


def require(name: str, values: Floats, fits: Bools, allowed: str) -> None:
    if not np.all(fits):
        raise ConfigError(f"{name} {allowed}, got {float(values[~fits].flat[0])!r}")


def whole(name: str, value: object, least: int = 0, most: int = 10**6) -> int:
    """A whole number of steps that are taken one by one, or of numbers that are held at once."""
    if not (is_whole(value) and value >= least):  # type: ignore[operator]
        raise ConfigError(f"{name} must be a whole number of at least {least}, got {brief(value)}")
    if value > most:  # type: ignore[operator]
        raise ConfigError(f"{name} must be at most {most:,}, got {brief(value)}")
    return int(value)  # type: ignore[call-overload]


def one(**given: npt.ArrayLike) -> list[float]:
    """The arguments as plain numbers, each checked against `RANGES`."""
    checked = read(**given)
    if checked[0].ndim:
        raise ConfigError(f"{', '.join(given)}: one number each, got {brief([*given.values()])}")
    return [float(value) for value in checked]


def broadcast(**given: Floats) -> tuple[Floats, ...]:
    try:
        return tuple(np.broadcast_arrays(*given.values()))
    except ValueError:
        shapes = " and ".join(f"{name} {values.shape}" for name, values in given.items())
        raise ConfigError(f"the shapes do not broadcast: {shapes}") from None


def plain(values: npt.NDArray[Any]) -> Numbers:
    return values.item() if values.ndim == 0 else values
