"""A corpus in a few lines for people: what is in it, and what was left out and why."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from driftword.corpus.options import CorpusOptions


def summarize(info: Mapping[str, Any], options: CorpusOptions) -> dict[str, str]:
    """Return names and values, from the facts of `Corpus.info` and the options it was prepared with."""
    facts = {
        "source": _source(info, options),
        "documents": f"{info['documents']:,}",
        "tokens": f"{info['tokens']:,}",
        "vocabulary": _vocabulary(info, options),
        "slices": f"{info['slices']} ({info['first_slice']} to {info['last_slice']})" + _empty(info),
        "splits": ", ".join(f"{name} {size:,}" for name, size in info["splits"].items()),
        "a pass sees": _pass(info),
    }
    if left_out := _left_out(info["report"]):
        facts["left out"] = "\n".join(left_out)
    if notes := _notes(info["report"]):
        facts["note"] = "\n".join(notes)
    if info["citation"]:
        facts["please cite"] = info["citation"]
    return facts


def _source(info: Mapping[str, Any], options: CorpusOptions) -> str:
    names = info["source"]
    text = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    return text + (f" (text: {options.text}, time: {options.time})" if options.text else "")


def _vocabulary(info: Mapping[str, Any], options: CorpusOptions) -> str:
    text = f"{info['words']:,} words"
    if info["phrases"]:
        text += f", {info['phrases']:,} of them phrases"
    if options.min_count is not None and options.vocabulary is not None:
        text += f", each at least {options.min_count} times"
        if info["words"] < options.vocabulary:
            text += f" ({options.vocabulary:,} were asked for)"
    return text


def _empty(info: Mapping[str, Any]) -> str:
    return f", {info['empty_slices']} of them empty" if info["empty_slices"] else ""


def _pass(info: Mapping[str, Any]) -> str:
    if info["subsample"] is None:
        return "every token"
    share = info["tokens_a_pass"] / max(info["tokens"], 1)
    return f"about {info['tokens_a_pass']:,} tokens ({share:.0%}), subsampled at t = {info['subsample']:g}"


def _left_out(report: Mapping[str, Any]) -> list[str]:
    words = {
        "no_text": "row(s) without text",
        "bad_rows": "malformed row(s)",
        "bad_dates": "document(s) whose date cannot be read",
        "outside_slices": "document(s) outside the slices",
        "numbers": "number(s)",
        "rare_tokens": "token(s) of words outside the vocabulary",
    }
    lines = [_counted(report[key], what) for key, what in words.items() if report.get(key)]
    if report.get("bad_dates"):
        shown = ", ".join(f"row {row}: '{value}'" for row, value in report["bad_date_examples"])
        lines = [line + f" ({shown})" if "date" in line else line for line in lines]
    return lines


def _counted(number: int, what: str) -> str:
    return f"{number:,} " + what.replace("(s)", "" if number == 1 else "s")


def _notes(report: Mapping[str, Any]) -> list[str]:
    lines = []
    if report.get("replaced_characters"):
        lines.append(f"{report['replaced_characters']:,} characters were not readable as UTF-8 and are shown as \ufffd")
    if report.get("keep_missing"):
        lines.append("words to keep that do not occur: " + ", ".join(report["keep_missing"][:10]))
    if small := report.get("slices_without_held_out"):
        names = ", ".join(small[:5]) + (", ..." if len(small) > 5 else "")
        lines.append(_counted(len(small), f"slice(s) too small to hold text out, in training whole: {names}"))
    if report.get("tokens_read") and report["rare_tokens"] > 0.5 * report["tokens_read"]:
        lines.append(
            "more than half of the text is outside the vocabulary; "
            "if its words are not separated by spaces, split them first and pass --tokens"
        )
    elif report.get("unspaced"):
        lines.append("its words seem not to be separated by spaces; split them first and pass --tokens")
    return lines
