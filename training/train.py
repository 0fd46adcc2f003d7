"""Tokenizer, target, distilled draft and weak draft. `python -m training.train DIR OUT [--quick]`

Writes OUT/target, OUT/draft and OUT/draft-weak as transformers folders in float16, then loads them and decodes.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import torch
from transformers import GenerationConfig, PreTrainedModel, PreTrainedTokenizerBase
from transformers.utils import logging as transformers_logging

import specviz as sv
from training.corpus import CorpusError
from training.loop import law_loss, make_llama, overlap_loss, text_loss, train
from training.own import write_texts
from training.recipe import FULL, QUICK, Recipe
from training.texts import END_ID, Text, encode, make_tokenizer, missing, read_texts
from training.widen import widen

TARGET, DRAFT, WEAK_DRAFT = "target", "draft", "draft-weak"


def train_pair(texts: Sequence[Text], recipe: Recipe, out: Path, *, say: Callable[[str], None] = print) -> None:
    """Play the whole recipe. Raises CorpusError when the texts are shorter than one window."""
    start = time.perf_counter()
    texts = [replace(text, training=text.training[: recipe.text_limit]) for text in texts]
    tokenizer = make_tokenizer(texts, recipe.vocab_size)
    parts = [torch.tensor(encode(tokenizer, text.training)) for text in texts]
    ids = torch.cat(parts)
    say(f"tokenizer: {len(tokenizer)} tokens; {len(ids):,} training tokens after {time.perf_counter() - start:.0f} s")
    runs = (recipe.target_run, *recipe.draft_runs, recipe.wide_draft_run, recipe.weak_draft_run)
    longest = max(run.length for run in runs)
    if len(ids) <= longest:
        raise CorpusError(f"the texts are {len(ids)} tokens long, but windows are {longest + 1}. Give longer texts.")

    target = make_llama(recipe.target, recipe)
    outcome = train("target", target, [ids], recipe.target_run, text_loss, say)
    say(f"target: {outcome.tokens:,} tokens in {outcome.seconds:.0f} s, loss {outcome.loss:.3f}")
    save(target, tokenizer, out / TARGET)

    draft = make_llama(recipe.draft, recipe)
    for run in recipe.draft_runs:
        outcome = train("draft", draft, [ids], run, law_loss(target), say)
        say(f"draft: {outcome.tokens:,} tokens in {outcome.seconds:.0f} s, KL to the target {outcome.loss:.3f}")
    draft = widen(draft, recipe.wide_draft, recipe)
    own = write_texts(target, parts, recipe.own_texts, recipe.wide_draft_run.length, say)
    outcome = train("wide draft", draft, [ids, own], recipe.wide_draft_run, overlap_loss(target), say)
    say(f"wide draft: {outcome.tokens:,} tokens in {outcome.seconds:.0f} s, KL / 2 + 1 - beta {outcome.loss:.3f}")
    save(draft, tokenizer, out / DRAFT)

    weak_draft = make_llama(recipe.weak_draft, recipe)
    outcome = train("weak draft", weak_draft, [ids], recipe.weak_draft_run, text_loss, say)
    say(f"weak draft: {outcome.tokens:,} tokens in {outcome.seconds:.0f} s, loss {outcome.loss:.3f}")
    save(weak_draft, tokenizer, out / WEAK_DRAFT)


def save(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, folder: Path) -> None:
    """Write weights, configuration and tokenizer as float16; the model itself is rounded too.

    float16 moves the laws of these models several times less than bfloat16 does. A draft that is distilled afterwards
    learns from the weights as they are on disk.
    """
    model.generation_config = GenerationConfig(bos_token_id=END_ID, eos_token_id=END_ID, pad_token_id=END_ID)
    model.half().save_pretrained(folder)
    model.float()
    tokenizer.save_pretrained(folder)


def decode_once(out: Path, draft: str) -> sv.Trace:
    """Load the pair from its folders and speculate: the proof that what was written can be used."""
    pair = sv.load_pair(out / TARGET, out / draft, device="cpu", dtype="float32")
    return sv.speculate(pair, "It was", draft_length=4, max_new_tokens=48, seed=0)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m training.train", description="Train the pair and its weak draft.")
    parser.add_argument("texts", metavar="DIR", type=Path, help="what `python -m training.corpus DIR` wrote")
    parser.add_argument("out", metavar="OUT", type=Path, help="where to write the three models")
    parser.add_argument("--quick", action="store_true", help="the same steps, much smaller: half a minute")
    options = parser.parse_args(arguments)
    transformers_logging.disable_progress_bar()
    try:
        if any((options.out / name).exists() for name in (TARGET, DRAFT, WEAK_DRAFT)):
            raise CorpusError(f"{options.out} holds a pair already. Choose another folder, or remove it first.")
        texts = read_texts(options.texts)
        for name in missing(texts):
            print(f"{name}.txt is missing in {options.texts}: training goes on without it.")
        train_pair(texts, QUICK if options.quick else FULL, options.out)
        for draft in (DRAFT, WEAK_DRAFT):
            trace = decode_once(options.out, draft)
            accepted = f"{trace.n_accepted} of {trace.n_judged} judged drafts accepted"
            print(f"loaded {TARGET} and {draft}: {len(trace.tokens)} tokens, {accepted}: {trace.text!r}")
    except (CorpusError, sv.SpecvizError) as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
