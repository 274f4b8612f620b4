"""A corpus in a few lines for people: what is in it, and what was left out and why."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from driftword.corpus.options import PrepareOptions
from driftword.corpus.preparation_report import PreparationReport

#: A language other than the main one is worth a note if at least this many documents of a sample, and at least this
#: share of them, are in it.
_LEAST_SAMPLED: Final = 3
_LEAST_SHARE: Final = 0.03


def summarize(info: Mapping[str, Any], options: PrepareOptions, report: PreparationReport) -> dict[str, str]:
    """Return names and values, from the facts of `Corpus.info` and how the corpus was prepared."""
    facts = {
        "source": _source(info, options),
        "documents": f"{info['documents']:,}",
        "tokens": f"{info['tokens']:,}",
        "vocabulary": _vocabulary(info, options),
        "slices": f"{info['slices']} ({info['first_slice']} to {info['last_slice']})" + _empty(info),
        **({"groups": _groups(info["groups"])} if info["groups"] else {}),
        "splits": ", ".join(f"{name} {size:,}" for name, size in info["splits"].items()),
        "a pass sees": _pass(info),
    }
    if left_out := _left_out(report):
        facts["left out"] = "\n".join(left_out)
    if notes := _notes(report):
        facts["note"] = "\n".join(notes)
    if info["citation"]:
        facts["please cite"] = info["citation"]
    return facts


def _source(info: Mapping[str, Any], options: PrepareOptions) -> str:
    names = info["source"]
    text = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    return text + (f" (text: {options.text}, time: {options.time})" if options.text else "")


def _groups(sizes: Mapping[str, int]) -> str:
    return ", ".join(f"{name} ({size:,})" for name, size in sizes.items()) + " (documents)"


def _vocabulary(info: Mapping[str, Any], options: PrepareOptions) -> str:
    text = f"{info['words']:,} words"
    if info["phrases"]:
        text += f", {info['phrases']:,} of them phrases"
    if options.min_count is not None and options.vocabulary is not None:
        text += f", each at least {options.min_count} times" if options.min_count > 1 else ""
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


def _left_out(report: PreparationReport) -> list[str]:
    bad_dates = ", ".join(f"row {row}: '{value}'" for row, value in report.bad_date_examples)
    languages = ", ".join(f"{count:,} {code}" for code, count in report.other_languages.items())
    files = ", ".join(f"'{name}'" for name in report.bad_file_examples)
    files += ", ..." if report.bad_files > len(report.bad_file_examples) else ""
    lines = [
        (report.bad_files, f"file(s) that cannot be read ({files})"),
        (report.no_text, "row(s) without text"),
        (report.bad_rows, "malformed row(s)"),
        (report.bad_dates, f"document(s) whose date cannot be read ({bad_dates})"),
        (sum(report.other_languages.values()), f"document(s) in other languages ({languages})"),
        (report.outside_slices, "document(s) outside the slices"),
        (report.no_words, "document(s) without any word"),
        (report.no_vocabulary, "document(s) without a word of the vocabulary"),
        (report.numbers, "number(s)"),
        (report.rare_tokens, "token(s) of words outside the vocabulary"),
    ]
    return [_counted(number, what) for number, what in lines if number]


def _counted(number: int, what: str) -> str:
    return f"{number:,} " + what.replace("(s)", "" if number == 1 else "s")


def _notes(report: PreparationReport) -> list[str]:
    lines = []
    for encoding, count in report.detected_encodings.items():
        lines.append(_counted(count, f"file(s) read as {encoding.capitalize()}; if that is wrong, pass `encoding`"))
    if report.replaced_characters:
        lines.append(
            _counted(report.replaced_characters, "character(s) could not be decoded and are shown as \ufffd; ")
            + "if the text is in another encoding, name it with `encoding`"
        )
    if languages := _mixed(report.language_sample):
        lines.append(languages)
    if report.keep_missing:
        lines.append("words to keep that do not occur: " + ", ".join(report.keep_missing[:10]))
    if small := report.slices_without_held_out:
        names = ", ".join(small[:5]) + (", ..." if len(small) > 5 else "")
        lines.append(_counted(len(small), f"slice(s) too small to hold out text, all of it in training: {names}"))
    split = 'split them first and pass `tokens="whitespace"`, or pass a tokenizer as `tokens`'
    if report.rare_tokens > 0.5 * report.tokens_read:
        lines.append(
            f"more than half of the text is outside the vocabulary; if its words are not separated by spaces, {split}"
        )
    elif report.unspaced:
        lines.append(f"its words do not seem to be separated by spaces; {split}")
    return lines


def _mixed(sample: Mapping[str, int]) -> str | None:
    """Return what to say of a corpus in several languages, from a sample of its documents."""
    total = sum(sample.values())
    main, *others = sorted(sample, key=lambda code: -sample[code]) or [""]
    noticed = [code for code in others if sample[code] >= max(_LEAST_SAMPLED, _LEAST_SHARE * total)]
    if not noticed:
        return None
    shares = ", ".join(f"{code} {sample[code] / total:.0%}" for code in (main, *noticed[:4]))
    return f'the documents seem to be in several languages ({shares}); to keep one, pass `language="{main}"`'
