"""How good is a model? Changes planted in real text, stability between seeds, held-out scores, and gold sets."""
