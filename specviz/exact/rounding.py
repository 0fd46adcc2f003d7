"""Short numbers: what becomes of the emitted law when p, q and r are kept in 16 bits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import numpy as np
import numpy.typing as npt

from specviz import theory
from specviz.errors import ConfigError, brief
from specviz.exact.position import accept_probs
from specviz.sampling import Floats, residual
from specviz.theory.checks import numbers

Format = Literal["float64", "float32", "float16", "bfloat16"]
# The uniforms of a format: k / 2**bits with k = 0 .. 2**bits - 1, the spacing of its numbers below 1. 0 is one of them.
UNIFORM_BITS: Mapping[Format, int] = {"float64": 53, "float32": 24, "float16": 11, "bfloat16": 8}


def rounded(values: npt.ArrayLike, form: Format) -> Floats:
    """The nearest numbers of that format, ties to even, as float64. Any shape.

    float16 and bfloat16 are rounded from float32, as frameworks do that compute in float32 and cast at the end.
    Source: IEEE 754-2019, section 4.3.1; bfloat16 is the upper half of a float32.
    """
    if not (isinstance(form, str) and form in UNIFORM_BITS):
        raise ConfigError(f"form must be one of {', '.join(UNIFORM_BITS)}, got {brief(form)}")
    exact = numbers("values", values)
    if form == "float64":
        return exact
    with np.errstate(over="ignore"):  # beyond a format's numbers it has infinity
        single = exact.astype(np.float32)
        if form == "float16":
            return single.astype(np.float16).astype(np.float64)
    if form == "bfloat16":
        bits = single.view(np.uint32)
        upper = (bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) & np.uint32(0xFFFF0000)
        single = upper.view(np.float32)
    return single.astype(np.float64)


def rounded_law(
    target_probs: npt.ArrayLike,
    draft_probs: npt.ArrayLike,
    form: Format = "bfloat16",
    *,
    renormalised: bool = True,
    drafted_in_full: bool = False,
    short_uniforms: bool = False,
    inclusive: bool = False,
) -> Floats:
    """The emitted law of one drafted position when p and q are rounded to `form` before they are used. [V], [V] -> [V].

    renormalised: each is divided by its sum again, in float64. drafted_in_full: tokens are drafted from q as it was,
    while ratio and residual use the rounded one. short_uniforms: the ratio is rounded to the format too, and r is one
    of its uniforms (`UNIFORM_BITS`). inclusive: accept on r <= p/q, not r <. Raises ConfigError on what is no law.
    """
    exact_p, exact_q = theory.check_laws(target_probs, draft_probs)
    if exact_p.ndim != 1:
        raise ConfigError(f"rounded_law takes the two laws of one position, [V], got shape {exact_p.shape}")
    p, q = rounded(exact_p, form), rounded(exact_q, form)
    if renormalised:
        p, q = p / p.sum(), q / q.sum()
    accept = accept_probs(p, q)
    if short_uniforms:
        steps = 2.0 ** UNIFORM_BITS[form]
        accept = rounded(accept, form) * steps
        accept = np.minimum(1.0, (np.floor(accept) + 1 if inclusive else np.ceil(accept)) / steps)
    drafted = exact_q if drafted_in_full else q
    drafted = drafted / drafted.sum()  # an inverse-CDF draw scales its uniform to the sum
    left = residual(p, q)
    return drafted * accept + (drafted * (1.0 - accept)).sum() * left / left.sum()
