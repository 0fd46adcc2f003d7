"""An encoder-decoder model of transformers (T5, BART) as a `Model`: the encoder reads the prompt, once per request.

The text stays prompt and output, as for every model. The decoder sees the output behind its start token, and that
token has the place of the prompt's last one: so a decoder's place is the text's, less the prompt's before the last.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import torch
from transformers import AutoModelForSeq2SeqLM, Cache, DynamicCache, EncoderDecoderCache, PreTrainedModel

from specviz.errors import LoadError, ModelError
from specviz.models.base import Reader
from specviz.models.hf import HFModel, HFReader
from specviz.models.lean import LeanLlama
from specviz.models.vocabulary import Vocabulary

CHECK_PROMPT = 2  # how many of the self-check's tokens are prompt


class Seq2SeqModel(HFModel):
    """An encoder-decoder model of transformers. Its laws are those of the output: there are none inside the prompt.

    Raises LoadError as `HFModel` does, and for a model that does not say with which token its decoder starts.
    """

    auto: ClassVar[Any] = AutoModelForSeq2SeqLM
    has_encoder = True

    def __init__(
        self, model: PreTrainedModel, vocabulary: Vocabulary, name: str | None = None, lean: LeanLlama | None = None
    ) -> None:
        asked = [(model.generation_config, "decoder_start_token_id"), (model.config, "decoder_start_token_id")]
        told = (getattr(config, key, None) for config, key in [*asked, (model.config, "bos_token_id")])
        start = next((token for token in told if isinstance(token, int)), None)
        if start is None:
            raise LoadError(
                f"{name or type(model).__name__} does not say with which token its decoder starts "
                "(decoder_start_token_id in its config.json). Set it there."
            )
        self.start_token = start
        super().__init__(model, vocabulary, name, lean)
        names = [f"max_{part}position_embeddings" for part in ("", "encoder_", "decoder_")]
        configs = (model.config, model.config.get_text_config(decoder=True))
        lengths = [getattr(config, name, None) for config in configs for name in names]
        # Prompt and output together: so neither passes the positions that its own half has.
        self.context_length = min((length for length in lengths if isinstance(length, int)), default=None)

    def open(self, prompt: Sequence[int] = ()) -> Reader:
        return Seq2SeqReader(self, prompt)

    @torch.inference_mode()
    def _alone(self, tokens: list[int]) -> npt.NDArray[np.floating[Any]]:
        prompt, ids = tokens[:CHECK_PROMPT], [self.start_token, *tokens[CHECK_PROMPT:]]
        inputs = {"input_ids": prompt, "decoder_input_ids": ids}
        tensors = {key: torch.tensor([value], device=self.device) for key, value in inputs.items()}
        return self.model(**tensors, use_cache=False).logits[0, :, : self.vocab_size].float().numpy(force=True)


class Seq2SeqReader(HFReader):
    """One request's prompt as the encoder reads it, and the decoder's cache."""

    def __init__(self, model: Seq2SeqModel, prompt: Sequence[int]) -> None:
        super().__init__(model)
        self._start_token = model.start_token
        self._prompt = list(prompt)
        self._first = len(self._prompt) - 1
        self._encoded: Any = None

    def _new_cache(self) -> Cache | None:
        return EncoderDecoderCache(DynamicCache(), DynamicCache()) if self.can_drop else None

    def _pass(self, tokens: list[int], start: int, n: int) -> torch.Tensor:
        of = self._of
        left = max(0, len(self._prompt) - start)  # how much of the prompt is still to come
        ids = [self._start_token, *tokens[left:]] if left else tokens
        if not self._prompt or tokens[:left] != self._prompt[start:] or n > len(ids):
            raise ModelError(
                f"{of.name} is an encoder-decoder model: it has laws only after the prompt it is opened with."
            )
        if self._encoded is None:
            self._encoded = of.model.get_encoder()(input_ids=torch.tensor([self._prompt], device=of.device))
        options: dict[str, Any] = {"cache": self._cache, "use_cache": True} if self.can_drop else {"use_cache": False}
        inputs = torch.tensor([ids], device=of.device)
        return of.model(encoder_outputs=self._encoded, decoder_input_ids=inputs, **options).logits[0, -n:]
