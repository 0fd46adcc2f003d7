"""What the formulas predict: acceptance, tokens per target pass, speed-up, the best draft length.

p is the target's law and q the draft's. alpha (α) is the acceptance rate, K the draft length, and c = T_p/T_q the cost
ratio: the time of a target pass over that of a draft pass. Leviathan's c is the inverse, T_q/T_p.

All but `alpha` and its neighbours assume that acceptances are independent with one rate, and that a pass over K + 1
positions costs what a pass over one does. Both are idealisations; `specviz.measure` shows the real run beside them.

Every function takes numbers or arrays, which broadcast, and answers with a Python number when all were numbers.
Each raises ConfigError when an argument is out of the range that its docstring states.
"""

from specviz.theory.checks import check_laws
from specviz.theory.drafts import (
    Standing,
    alpha_for_speedup,
    best_speedup,
    cost_ratio_for_speedup,
    rank_drafts,
)
from specviz.theory.laws import Normalised, alpha, kl_divergence, normalised, residual, total_variation, warped
from specviz.theory.speed import (
    LengthLaws,
    best_draft_length,
    best_draft_length_continuous,
    break_even_alpha,
    crude_draft_length,
    guaranteed_speedup,
    length_laws,
    marginal_gain,
    operations,
    peak,
    plateau,
    round_time,
    speedup,
    stationary_residual,
    with_surcharge,
)
from specviz.theory.tokens import (
    TwoRates,
    expected_tokens,
    judged_alpha,
    rate_by_place,
    reached,
    start_in_text,
    tokens_in_text,
    tokens_law,
    two_rates,
)

__all__ = [
    "LengthLaws",
    "Normalised",
    "Standing",
    "TwoRates",
    "alpha",
    "alpha_for_speedup",
    "best_draft_length",
    "best_draft_length_continuous",
    "best_speedup",
    "break_even_alpha",
    "check_laws",
    "cost_ratio_for_speedup",
    "crude_draft_length",
    "expected_tokens",
    "guaranteed_speedup",
    "judged_alpha",
    "kl_divergence",
    "length_laws",
    "marginal_gain",
    "normalised",
    "operations",
    "peak",
    "plateau",
    "rank_drafts",
    "rate_by_place",
    "reached",
    "residual",
    "round_time",
    "speedup",
    "start_in_text",
    "stationary_residual",
    "tokens_in_text",
    "tokens_law",
    "total_variation",
    "two_rates",
    "warped",
    "with_surcharge",
]
