"""Model families of transformers as tiny random models, built from their configurations: no download."""
