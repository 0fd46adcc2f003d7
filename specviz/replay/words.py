"""Every word that the stage itself says. Captions, formulas and numbers come from `timeline`."""

from __future__ import annotations

from specviz.i18n import _
from specviz.timeline import outcome_name


def words() -> dict[str, str]:
    """By the name under which the stage asks for it. Braces are filled in by the stage."""
    return {
        # the head and the text
        "stage": _("Speculative decoding, step by step"),
        "round_of": _("Round {i} of {n}"),
        "step_of": _("step {i} of {n}"),
        "empty": _("The first round is on its way."),
        "text": _("The text so far"),
        "passes": _("rounds done"),
        "per_pass": _("tokens per target pass"),
        "alpha": _("measured α"),
        "judged": _("drafts accepted"),
        "legend": _("How a token came"),
        "made": _("{token}: {outcome} in round {i}"),
        # the phases of a round
        "phases": _("The steps of this round"),
        "phase_draft": _("Draft"),
        "phase_verify": _("Verify"),
        "phase_judge": _("Judge"),
        "phase_residual": _("Resample"),
        "phase_bonus": _("Bonus"),
        "phase_emit": _("Emit"),
        # the cards
        "cards": _("The tokens of this round"),
        "absent": _("to be drafted"),
        "drafted": _("drafted"),
        "accepted": outcome_name("accepted"),
        "rejected": outcome_name("rejected"),
        "unjudged": outcome_name("unjudged"),
        "resampled": outcome_name("resampled"),
        "bonus": outcome_name("bonus"),
        "waiting": _("one more token"),
        "q": _("draft q"),
        "p": _("target p"),
        "from_left": _("drawn from what p has more"),
        "from_best": _("the target's best token"),
        "from_target": _("drawn from p"),
        # the panels
        "law_q": _("The draft's law q at this place"),
        "law_p": _("The target's law p at this place"),
        "rest": _("all other tokens"),
        "others": _("others"),
        "draw": _("The draw: a random u"),
        "draw_best": _("Greedy: the most probable token is taken"),
        "strip_note": _("The law laid end to end: each token has a stretch as long as its probability."),
        "strip_greedy": _("At temperature 0 the whole law lies on one token, so any u picks it."),
        "both_laws": _("Both laws at this place"),
        "beta": _("overlap β = Σ min(p, q) = {beta}"),
        "each_gives": _("What each model gives “{token}”"),
        "ratio": _("p/q = {x}: accepted with probability {a}"),
        "trial": _("The judgement: a random r"),
        "accept_zone": _("accept"),
        "reject_zone": _("reject"),
        "threshold": _("min(1, p/q) = {a}"),
        "verdict_yes": _("{r} < {a}: accepted"),
        "verdict_no": _("{r} ≥ {a}: rejected"),
        "overlaid": _("p and q, overlaid"),
        "left_over": _("max(0, p − q) ÷ {rejected}"),
        "left_over_best": _("max(0, p − q)"),
        "residual_key": _("what the target gives more than the draft"),
        "cost": _("What it cost"),
        "cost_draft": _("drafting, {n} passes"),
        "cost_verify": _("one target pass"),
        "ms": _("{ms} ms"),
        "caches": _("The KV caches: what each model need not compute again"),
        "cache_draft": _("draft cache"),
        "cache_target": _("target cache"),
        "cache_numbers": _("{kept} reused, {fed} fed, {dropped} dropped"),
        "kept": _("reused"),
        "fed": _("fed in this round"),
        "dropped": _("dropped: drafts that fell before"),
        "arrive": _("p arrives for every place at once"),
        "place": _("place {i}"),
        "next_place": _("bonus"),
        "added": _("Added to the text"),
        "after": _("The target's cache: {kept} entries stay, {dropped} go with the fallen drafts"),
        "after_all": _("The target's cache: all {kept} entries stay"),
        "compare": _("Passes of the target model for these tokens"),
        "alone": _("target alone"),
        "together": _("with the draft"),
        "times": _("{n}×"),
        # the controls
        "controls": _("Controls"),
        "play": _("Play"),
        "pause": _("Pause"),
        "back": _("Previous step"),
        "next": _("Next step"),
        "first": _("First step"),
        "rejection": _("Jump to the next rejection"),
        "rejection_short": _("next rejection"),
        "round": _("Round"),
        "scrub": _("Position in the whole run"),
        "speed": _("Speed"),
        "picture": _("Save a picture of this step (with Shift as SVG)"),
        "theme": _("Light or dark"),
        "help": _("Keys"),
        "terms": _("Words"),
        "term_law": _("p, q"),
        "means_law": _("the target's law and the draft's: how probable each finds every token that may come next"),
        "term_u": _("u"),
        "means_u": _("a random number from 0 to 1: laid on a law, it picks the token whose stretch it falls on"),
        "term_r": _("r"),
        "means_r": _("another one, that judges a guess: it stands when r < min(1, p/q)"),
        "term_alpha": _("β, α"),
        "means_alpha": _("β = Σ min(p, q): the chance that a guess stands at this place; α: its mean over places"),
        "term_residual": _("residual"),
        "means_residual": _(
            "what p has more than q, made a law: it replaces a fallen guess, so that the output has law p"
        ),
        "term_bonus": _("bonus, K"),
        "means_bonus": _("K guesses a round; when all stand, the same pass gives one more token from p"),
        "close": _("Close"),
        "key_play": _("play or pause"),
        "key_steps": _("one step back or on (clickers: Page Up, Page Down)"),
        "key_rounds": _("one round back or on"),
        "key_ends": _("first or last step"),
        "key_digits": _("to the round of that number"),
        "key_rejection": _("to the next rejection"),
        "key_picture": _("save a picture of this step: PNG, with Shift SVG"),
        "key_full_screen": _("full screen"),
        "key_blank": _("blank the screen; any key brings it back"),
        "key_theme": _("light or dark"),
        "key_notes": _("this step in plain words"),
        "key_help": _("these keys and words"),
        "key_space": _("Space"),
        "key_home": _("Home, End"),
        "blank": _("The screen is blank. Any key or click brings the stage back."),
        "notes": _("This step in plain words"),
        # what a speaker can say at each step
        "note_draft": _(
            "A small, fast model guesses a few tokens ahead. It draws each guess from its own law, and that is cheap."
        ),
        "note_verify": _(
            "Now the large model reads all the guesses in one pass. With a large model on a GPU that takes hardly "
            "longer than making one token, and this is where time is saved."
        ),
        "note_judge_yes": _(
            "This guess stays: the random number fell on the part that accepts. A guess that the large model likes at "
            "least as much as the small one always stays."
        ),
        "note_judge_no": _(
            "This guess falls, because the large model likes it too little. The guesses after it built on it, so they "
            "go as well."
        ),
        "note_residual": _(
            "The replacement is drawn from what the large model gives more than the small one. That is the trick: the "
            "text comes out just as if the large model had written alone."
        ),
        "note_bonus": _(
            "The same pass also gave the law for the next place. So the large model adds a token of its own, and it "
            "costs nothing more."
        ),
        "note_emit": _(
            "All of this took one pass of the large model. Alone, it would have needed a pass for every one of these "
            "tokens."
        ),
        "hint": _("On a touch screen, swipe left or right. Click a token in the text to see the step that made it."),
    }
