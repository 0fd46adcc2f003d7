"""Pages to try things out: a round by hand, the proof of exactness and what breaks it, all rounds of a run."""
