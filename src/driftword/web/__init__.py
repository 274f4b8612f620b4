"""The explorer: a model in the browser. It computes nothing: pages show the tables of `explore`.

It imports `pages`, `plot` and what they import; other rooms use `app.make_app` and `server.serve`.
"""
