"""How sure an answer is: whether words changed their use by more than chance.

It imports the rooms up to `fitting`; other rooms use `significance`, `word_tests`, `change_dates` and `uncertainty`.
"""
