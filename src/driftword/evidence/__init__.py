"""How sure an answer is: whether words changed their use by more than chance."""
