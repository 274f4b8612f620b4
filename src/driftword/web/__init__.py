"""The explorer: a local web page on a model. No mathematics: pages show the tables of `explore`."""
