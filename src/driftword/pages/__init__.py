"""What readers see: the content of each page, its figures and templates, and the offline report.

It imports the rooms up to `plot` that read models, and computes nothing; other rooms use `content`, `rendering` and
`offline_report.report`.
"""
