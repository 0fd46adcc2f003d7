"""What a matrix product costs by the number of tokens, made in different ways. `python -m benchmarks.products`

The matrices of the bundled target's layers, float32, weights that are float16 numbers. Milliseconds for all layers, the
least of many alternating repetitions: what a way can do when nothing disturbs it.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812 - the name that everybody reads

from benchmarks import timing

LAYERS, SHAPES = 8, ((768, 256), (256, 256), (1408, 256), (256, 704))  # rows and columns: qkv, out, gate and up, down
TOKENS = (1, 2, 3, 4, 5, 8, 9, 16)


def ways() -> dict[str, Callable[[int], Callable[[], None]]]:
    """By name: what makes, for a number of tokens, all products once."""
    weights = [[torch.randn(shape).half().float() for shape in SHAPES] for _layer in range(LAYERS)]
    turned = [[w.t().contiguous() for w in layer] for layer in weights]
    packed = [[pack(w) for w in layer] for layer in weights]
    onednn = [[torch.ops.mkldnn._reorder_linear_weight(w, 5) for w in layer] for layer in weights]

    def way(
        matrices: Sequence[Sequence[Any]],
        product: Callable[[Any, Any], Any],
        given: Callable[[torch.Tensor], Any] = lambda x: x,
    ) -> Callable[[int], Callable[[], None]]:
        def of(n: int) -> Callable[[], None]:
            xs = [given(torch.randn(n, columns)) for _rows, columns in SHAPES]

            def make() -> None:
                for layer in matrices:
                    for matrix, x in zip(layer, xs, strict=True):
                        product(matrix, x)

            return make

        return of

    return {
        "F.linear": way(weights, lambda w, x: F.linear(x, w)),
        "weights @ tokens": way(weights, lambda w, x: torch.mm(w, x.t())),
        "turned weights": way(turned, lambda w, x: torch.mm(x, w)),
        "packed float16": way(packed, lambda w, x: torch.fbgemm_linear_fp16_weight_fp32_activation(x, *w)),
        "packed oneDNN": way(
            onednn, lambda w, x: torch.ops.mkldnn._linear_pointwise.default(x, w, None, "none", [], "")
        ),
        "numpy, turned": way([[w.numpy() for w in layer] for layer in turned], lambda w, x: x @ w, torch.Tensor.numpy),
    }


def pack(weight: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The packed weights and no bias; torch says once for packing and once for multiplying that it will drop them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        packed, bias = torch.fbgemm_pack_gemm_matrix_fp16(weight), torch.zeros(len(weight))
        torch.fbgemm_linear_fp16_weight_fp32_activation(torch.zeros(1, weight.shape[1]), packed, bias)
    return packed, bias


@torch.inference_mode()
def main() -> None:
    options = timing.options(__doc__, repeats=30).parse_args()
    torch.set_num_threads(options.threads)
    made = ways()
    least = {name: [float("inf")] * len(TOKENS) for name in made}
    for i, n in enumerate(TOKENS):
        makes = {name: of(n) for name, of in made.items()}
        for _ in range(options.repeats):
            for name, make in makes.items():
                start = time.perf_counter()
                make()
                least[name][i] = min(least[name][i], time.perf_counter() - start)
    print(timing.machine())
    rows = [[name, *(f"{seconds * 1e3:.2f}" for seconds in times)] for name, times in least.items()]
    print(timing.table(["tokens", *map(str, TOKENS)], rows))


if __name__ == "__main__":
    main()
