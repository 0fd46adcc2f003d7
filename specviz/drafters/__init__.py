"""Who proposes tokens. `base` is the protocol; `model` drafts with another model."""
