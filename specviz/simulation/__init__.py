"""Rounds drawn at random in bulk, beside formulas and exact laws: whole arrays at once, from a seeded generator."""
