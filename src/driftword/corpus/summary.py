"""A corpus in a few lines: what is in it, and what was left out and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any, Final

import numpy as np

from driftword.corpus.from_ids import KIND
from driftword.corpus.options import LEMMA, LEMMA_POS
from driftword.corpus.preparation_report import PreparationReport
from driftword.corpus.tokenized_text import TokenizedText

#: A language other than the main one is worth a note if at least this many documents of a sample, and at least this
#: share of them, are in it.
_SUSPICIOUS: Final = 0.005  # share of the words from which on letters that stand alone, and the like, are told
_LEAST_SAMPLED: Final = 3
_LEAST_SHARE: Final = 0.03
#: The text of a slice is worth a note if so much more of it is outside the vocabulary, or its documents are so many
#: times longer or shorter, than those of most slices, of which there must be a few.
_FAR_OUTSIDE: Final = 0.05
_OTHER_LENGTH: Final = 4.0
_LEAST_SLICES: Final = 4
_OFTEN_REPEATED: Final = 0.01  # share of a text that is passages of several documents


def facts_of(corpus: TokenizedText) -> dict[str, Any]:
    """Return the facts for programs; see `Corpus.info`."""
    per_slice = corpus.tokens_per_slice()
    return {
        "kind": KIND,
        "path": str(corpus.path) if corpus.path else None,
        "source": [entry.name for entry in corpus.inputs],
        "citation": corpus.citation,
        "documents": len(np.unique(corpus.chunk_document)),
        "tokens": corpus.n_tokens,
        "words": len(corpus.words),
        "phrases": sum(" " in word for word in corpus.words),
        "slices": len(corpus.slices),
        "first_slice": corpus.slices.labels[0],
        "last_slice": corpus.slices.labels[-1],
        "empty_slices": int((per_slice == 0).sum()),
        "groups": corpus.group_sizes(),
        "splits": corpus.split_sizes(),
        "subsample": corpus.subsample,
        "tokens_a_pass": round(corpus.expected_tokens()),
        "seed": corpus.seed,
        "fingerprint": corpus.fingerprint,
        "report": corpus.report.to_dict(),
        "tokens_per_slice": dict(zip(corpus.slices.labels, per_slice.tolist(), strict=True)),
    }


def summarize(corpus: TokenizedText) -> dict[str, str]:
    """Return the facts for people; see `Corpus.summary`."""
    info, options = facts_of(corpus), corpus.options
    source = ", ".join(info["source"][:3])
    source += f" and {len(info['source']) - 3} more" if len(info["source"]) > 3 else ""
    source += f" (text: {options.text}, time: {options.time})" if options.text else ""
    counted = {LEMMA: "lemmas", LEMMA_POS: "lemmas with parts of speech"}.get(options.words, "words")
    made = f" made here ({options.lemma_language})" if options.lemma_language else ""
    vocabulary = f"{info['words']:,} {counted}{made}"
    if info["phrases"]:
        vocabulary += f", {info['phrases']:,} of them phrases"
    if options.min_count is not None and options.vocabulary is not None:
        vocabulary += f", each at least {options.min_count} times" if options.min_count > 1 else ""
        vocabulary += f" ({options.vocabulary:,} were asked for)" if info["words"] < options.vocabulary else ""
    slices = f"{info['slices']} ({info['first_slice']} to {info['last_slice']})"
    slices += f", {info['empty_slices']} of them empty" if info["empty_slices"] else ""
    a_pass = "every token"
    if info["subsample"] is not None:
        share = info["tokens_a_pass"] / max(info["tokens"], 1)
        a_pass = f"about {info['tokens_a_pass']:,} tokens ({share:.0%}), subsampled at t = {info['subsample']:g}"
    groups = ", ".join(f"{name} ({size:,})" for name, size in info["groups"].items())
    facts = {
        "source": source,
        "documents": f"{info['documents']:,}",
        "tokens": f"{info['tokens']:,}",
        "vocabulary": vocabulary,
        "slices": slices,
        "groups": f"{groups} (documents)" if groups else "",
        "splits": ", ".join(f"{name} {size:,}" for name, size in info["splits"].items()),
        "a pass sees": a_pass,
        "left out": "\n".join(_left_out(corpus.report)),
        "note": "\n".join(_notes(corpus.report)),
        "please cite": info["citation"] or "",
    }
    return {name: fact for name, fact in facts.items() if fact}


def _left_out(report: PreparationReport) -> list[str]:
    bad_dates = ", ".join(f"row {row}: '{value}'" for row, value in report.bad_date_examples)
    languages = ", ".join(f"{count:,} {code}" for code, count in report.other_languages.items())
    files = [f"'{name}'" for name in report.bad_file_examples]
    lines = [
        (report.bad_files, f"file(s) that cannot be read ({_first(files, len(files), of=report.bad_files)})"),
        (report.no_text, "row(s) without text"),
        (report.bad_rows, "malformed row(s)"),
        (report.bad_dates, f"document(s) whose date cannot be read ({bad_dates})"),
        (sum(report.other_languages.values()), f"document(s) in other languages ({languages})"),
        (report.outside_slices, "document(s) outside the slices"),
        (report.no_words, "document(s) without any word"),
        (report.no_vocabulary, "document(s) without a word of the vocabulary"),
        (report.copies * report.copies_dropped, "document(s) that are copies of earlier ones, or nearly"),
        (report.numbers, "number(s)"),
        (report.rare_tokens, "token(s) of words outside the vocabulary"),
    ]
    return [_counted(number, what) for number, what in lines if number]


def _notes(report: PreparationReport) -> list[str]:
    lines = [
        _counted(count, f"file(s) read as {encoding.capitalize()}; if that is wrong, pass `encoding`")
        for encoding, count in report.detected_encodings.items()
    ]
    if report.replaced_characters:
        lines.append(
            _counted(report.replaced_characters, "character(s) could not be decoded and are shown as \ufffd; ")
            + "if the text is in another encoding, name it with `encoding`"
        )
    if languages := _mixed(report.language_sample):
        lines.append(languages)
    if report.without_lemma:
        lines.append(_counted(report.without_lemma, "word(s) without a lemma in the source, counted as written"))
    for what, count in report.suspicious.items():
        if count > _SUSPICIOUS * max(report.tokens_read, 1):
            share = count / report.tokens_read
            lines.append(f"{share:.1%} of the words are {what}: signs of misread or hyphenated text; look at some")
    if report.copies and not report.copies_dropped:
        lines.append(
            _counted(report.copies, "document(s) copied from earlier ones, word for word or nearly; ")
            + "tests count a text and its copies as one piece of evidence (see `copies`)"
        )
    if report.keep_missing:
        lines.append("words to keep that do not occur: " + ", ".join(report.keep_missing[:10]))
    if small := report.slices_without_held_out:
        names = _first(small, 5, of=len(small))
        lines.append(_counted(len(small), f"slice(s) too small to hold out text, all of it in training: {names}"))
    lines += _unusual(report)
    split = (
        'pass `tokens="chinese"` or `"japanese"`, if they are that; or split them first and pass `tokens="whitespace"`'
    )
    if report.rare_tokens > 0.5 * report.tokens_read:
        lines.append(
            f"more than half of the text is outside the vocabulary; if its words are not separated by spaces, {split}"
        )
    elif report.unspaced:
        lines.append(f"its words do not seem to be separated by spaces; {split}")
    return lines


def warnings_of(corpus: TokenizedText) -> list[str]:
    """Return what a reader of results must know about the text: why words may seem to change that did not."""
    mixed = _mixed(corpus.report.language_sample)
    return [line.replace("`", "") for line in [*([mixed] if mixed else []), *_unusual(corpus.report)]]


def _unusual(report: PreparationReport) -> list[str]:
    """Return what to say of slices whose text is unlike that of the others: words may seem to change because of it."""
    lines = []
    shares = list(report.outside_vocabulary.values())
    if len(shares) >= _LEAST_SLICES:
        usual = median(shares)
        far = max(4 * 1.48 * median(abs(share - usual) for share in shares), _FAR_OUTSIDE)
        many = [label for label, share in report.outside_vocabulary.items() if share > usual + far]
        if many:
            worst = max(report.outside_vocabulary[label] for label in many)
            lines.append(
                f"in {_first(many, 5, of=len(many))} up to {worst:.0%} of the words are outside the vocabulary, "
                f"elsewhere about {usual:.0%}; badly read scans, old spellings or another language look like this, and "
                "then like a change of words"
            )
        usual_length = median(report.document_length.values())
        other = [
            label
            for label, length in report.document_length.items()
            if not usual_length / _OTHER_LENGTH <= length <= usual_length * _OTHER_LENGTH
        ]
        if other:
            lines.append(
                f"in {_first(other, 5, of=len(other))} documents are {_OTHER_LENGTH:g} times longer or shorter than "
                f"usual (about {usual_length:,.0f} words); if they are of another kind, words change with that"
            )
    return lines + _repeated(report.repeated_passages)


def _repeated(shares: Mapping[str, float]) -> list[str]:
    """Return what to say of slices in which many documents share passages."""
    if len(shares) < _LEAST_SLICES:
        return []
    usual = median(shares.values())
    far = max(4 * 1.48 * median(abs(share - usual) for share in shares.values()), _OFTEN_REPEATED)
    many = [label for label, share in shares.items() if share > usual + far]
    if not many:
        return []
    return [
        f"in {_first(many, 5, of=len(many))} up to {max(shares[label] for label in many):.1%} of the text is passages "
        f"that five or more documents share, elsewhere about {usual:.1%}; letterheads, footers and formulas change the "
        "company of their words when they come or go"
    ]


def _counted(number: int, what: str) -> str:
    return f"{number:,} " + what.replace("(s)", "" if number == 1 else "s")


def _first(names: Sequence[str], n: int, *, of: int) -> str:
    """Join the first n names of a list that has `of` in all."""
    return ", ".join(names[:n]) + (", ..." if of > n else "")


def _mixed(sample: Mapping[str, int]) -> str | None:
    """Return what to say of a corpus in several languages, from a sample of its documents."""
    total = sum(sample.values())
    main, *others = sorted(sample, key=lambda code: -sample[code]) or [""]
    noticed = [code for code in others if sample[code] >= max(_LEAST_SAMPLED, _LEAST_SHARE * total)]
    if not noticed:
        return None
    shares = ", ".join(f"{code} {sample[code] / total:.0%}" for code in (main, *noticed[:4]))
    return f'the documents seem to be in several languages ({shares}); to keep one, pass `language="{main}"`'
