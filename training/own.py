"""Texts that the target writes: a draft is asked about those, not about the ones in books.

Source: Zhou et al. 2023 (arXiv 2310.08461), on data that the models themselves generate.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from transformers import PreTrainedModel

PROMPT = 32  # tokens given
BATCH = 64
TURNS = (0, 2, 1, 2)  # the text that prompts come from, batch after batch: code is the hardest to guess
TEMPERATURES = (1.0, 0.7)


def write_texts(
    target: PreTrainedModel, texts: Sequence[Tensor], n: int, length: int, say: Callable[[str], None]
) -> Tensor:
    """About n texts of `length` tokens, one after another, [n * length]. texts: ids; prompts come from those that are
    longer than one, or, where none is, from all of them together."""
    texts = [ids for ids in texts if len(ids) > PROMPT] or [torch.cat(list(texts))]
    written: list[Tensor] = []
    with torch.random.fork_rng(devices=[]), torch.inference_mode():
        torch.manual_seed(7)
        while len(written) * BATCH < n:
            ids = texts[TURNS[len(written) // len(TEMPERATURES) % len(TURNS)] % len(texts)]
            at = torch.randint(0, len(ids) - PROMPT, (BATCH,))
            prompts = torch.stack([ids[i : i + PROMPT] for i in at])
            written.append(
                target.generate(
                    prompts,
                    attention_mask=torch.ones_like(prompts),
                    do_sample=True,
                    temperature=TEMPERATURES[len(written) % len(TEMPERATURES)],
                    top_k=0,
                    min_new_tokens=length - PROMPT,
                    max_new_tokens=length - PROMPT,
                )
            )
            say(f"the target's own texts: {len(written) * BATCH} of {n}")
    return torch.cat(written).flatten()
