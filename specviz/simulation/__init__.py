"""Rounds drawn at random in bulk, beside the formulas and the exact laws: whole arrays at once, from a seeded generator."""
