"""From a corpus to a model: schedule, passes, validation, checkpoints; then what is done with fits.

`fitting`, `extending`, `tuning`, `evaluation`, `comparison` and `planning` each have one public function. It imports
the rooms up to `engines`.
"""
