"""From a corpus to a model, and what is done with fits.

`fitting` checks what the user gave, `job` plans the fit, `training` runs the passes, `keeping` writes checkpoints and
the model. `extending`, `tuning`, `evaluation`, `comparison` and `planning` each have one public function as well. It
imports the rooms up to `engines`.
"""
