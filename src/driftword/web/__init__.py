"""The explorer: a model in the browser. It computes nothing: pages show the tables of `explore`."""
