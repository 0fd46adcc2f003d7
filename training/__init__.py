"""The recipe of the bundled pair: texts, tokenizer, target, distilled draft, weak draft. See README.md.

Run from the repository's root: `python -m training.corpus`, `python -m training.train`, `python -m training.measure`.
"""
