"""Pages that answer a question from a few numbers: each shows a formula of `theory`, live, and a figure of it."""
