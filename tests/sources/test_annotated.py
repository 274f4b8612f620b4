"""Sources that say what each word is: TEI, CoNLL-U and VRT."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import driftword as dw
from driftword.corpus.summary import summarize
from driftword.corpus.word_kinds import word_kinds
from driftword.sources.opening import ReadingOptions, open_source

#: Form, lemma, part of speech, and whether no space follows.
SENTENCE = [
    ("Ships", "ship", "NOUN", False), ("sailed", "sail", "VERB", True), (",", ",", "PUNCT", False),
    ("and", "and", "CCONJ", False), ("a", "a", "DET", False), ("ship", "ship", "NOUN", False),
    ("sank", "sink", "VERB", False), ("near", "near", "ADP", False), ("Dover", "Dover", "PROPN", True),
    (".", ".", "PUNCT", False),
]  # fmt: skip
WRITTEN = "Ships sailed, and a ship sank near Dover."
LEMMAS = ["ship", "sail", "and", "a", "sink", "near", "dover"]


def conllu(year: int, sentences: int = 3) -> str:
    lines = [f"# newdoc id = letter-{year}", f"# date = {year}-03-01", "# author = A. B.", ""]
    for number in range(sentences):
        lines += [f"# sent_id = {number}", f"# mood = {number}"]
        for i, (form, lemma, tag, close) in enumerate(SENTENCE, start=1):
            misc = "SpaceAfter=No" if close else "_"
            lines.append("\t".join([str(i), form, lemma, tag, "_", "_", "0", "_", "_", misc]))
        lines.append("")
    return "\n".join(lines) + "\n"


def vrt(year: int, sentences: int = 3) -> str:
    words = "\n".join(f"{form}\t{tag}\t{lemma}" for form, lemma, tag, _ in SENTENCE)
    inner = "\n".join(f"<s>\n{words}\n</s>" for _ in range(sentences))
    return f'<text id="letter-{year}" date="{year}-03-01" author="A. &amp; B.">\n<p>\n{inner}\n</p>\n</text>\n'


def tei(year: int, sentences: int = 3, *, plain: bool = False, body: str | None = None) -> str:
    def word(form: str, lemma: str, tag: str) -> str:
        return f"<pc>{form}</pc>" if tag == "PUNCT" else f'<w lemma="{lemma}" pos="{tag}">{form}</w>'

    one = WRITTEN if plain else "\n".join(word(form, lemma, tag) for form, lemma, tag, _ in SENTENCE)
    inner = body or "".join(f"<s>{one}</s>\n" for _ in range(sentences))
    return (
        f'<?xml version="1.0"?><TEI xmlns="http://www.tei-c.org/ns/1.0" xml:id="t{year}"><teiHeader><fileDesc>'
        "<titleStmt><title>A <hi>long</hi> letter</title><author><persName><forename>Ann</forename> "
        "<surname>Bell</surname></persName></author></titleStmt><publicationStmt><date when='2015'/></publicationStmt>"
        f"<sourceDesc><bibl><title>no</title><date when='{year}-03-01'/></bibl></sourceDesc></fileDesc></teiHeader>"
        f"<text><body><div type='letter'><p>{inner}</p></div></body></text></TEI>"
    )


MAKE: dict[str, Any] = {".conllu": conllu, ".vrt": vrt, ".xml": tei}


def folder(path: Path, suffix: str, years: range = range(1850, 1862), **given: Any) -> Path:
    path.mkdir(exist_ok=True)
    for year in years:
        (path / f"{year}{suffix}").write_text(MAKE[suffix](year, **given), encoding="utf-8")
    return path


@pytest.mark.parametrize("suffix", [".conllu", ".vrt", ".xml"])
def test_words_are_counted_as_asked_and_found_in_the_text(tmp_path: Path, suffix: str) -> None:
    source = folder(tmp_path / "letters", suffix)
    made = {
        words: dw.prepare(source, words=words, phrases=False, slices="5y", out=tmp_path / words)
        for words in ("form", "lemma", "lemma_pos")
    }
    assert set(made["form"].words) == {"ships", "sailed", "and", "a", "ship", "sank", "near", "dover"}
    assert set(made["lemma"].words) == set(LEMMAS)
    assert {"ship_noun", "sail_verb", "dover_propn"} < set(made["lemma_pos"].words)
    lines = made["lemma"].passages("ship", n=40, width=100)
    assert sorted(set(lines["keyword"])) == ["Ships", "ship"]
    assert len(lines) == 40
    for left, keyword, right in lines.select("left", "keyword", "right").iter_rows():
        assert WRITTEN in f"{left}{keyword}{right}".replace("\u2026", "")
    documents = made["lemma"].documents.collect()
    assert documents["text"][0].splitlines()[0].startswith(WRITTEN)
    assert "annotation" not in documents.columns
    assert documents["date"].dt.to_string().to_list()[:2] == ["1850-03-01", "1851-03-01"]
    kinds = dict(zip(made["lemma_pos"].words, word_kinds(made["lemma_pos"]), strict=True))
    assert (kinds["dover_propn"], kinds["and_cconj"], kinds["ship_noun"]) == ("name", "function", "word")
    kinds = dict(zip(made["lemma"].words, word_kinds(made["lemma"]), strict=True))
    assert (kinds["dover"], kinds["ship"]) == ("name", "word")
    assert dw.Corpus.open(tmp_path / "lemma").passages("sink", n=1)["keyword"].to_list() == ["sank"]


def test_facts_of_documents_become_columns(tmp_path: Path) -> None:
    expected = {
        ".conllu": {"id": "letter-1850", "author": "A. B."},
        ".vrt": {"id": "letter-1850", "author": "A. & B."},
        ".xml": {"id": "t1850", "author": "Ann Bell", "title": "A long letter"},
    }
    for suffix, facts in expected.items():
        source = folder(tmp_path / suffix[1:], suffix, range(1850, 1854))
        corpus = dw.prepare(source, slices="2y", out=tmp_path / f"c{suffix}")
        row = corpus.documents.collect().row(0, named=True)
        assert {name: row[name] for name in facts} == facts
        assert "mood" not in row or row["mood"] == "0"


def rows_of(path: Path, **options: Any) -> pl.DataFrame:
    return pl.concat(open_source(path, ReadingOptions(**options)).batches(), how="diagonal_relaxed")


def test_elements_of_a_text_may_be_documents(tmp_path: Path) -> None:
    body = (
        '<sp who="#ann"><speaker>ANN</speaker><l>Good day.</l></sp><sp who="#bob"><l>And you,</l><l>my friend.</l></sp>'
    )
    (tmp_path / "1601_play.xml").write_text(tei(1601, body=body), encoding="utf-8")
    rows = rows_of(tmp_path / "1601_play.xml", element="sp")
    assert rows.select("text", "who").rows() == [("ANN\nGood day.", "#ann"), ("And you,\nmy friend.", "#bob")]
    assert rows["date"].to_list() == ["1601-03-01"] * 2
    (tmp_path / "a.vrt").write_text(
        "<!-- #vrt positional-attributes: word lemma pos -->\n<corpus lang='en'>\n<talk date='1999'>\n<turn who='x'>\n"
        "Hi\thi\tUH\n</turn>\n<turn who='y'>\nHello\thello\tUH\n!\t!\tSENT\n</turn>\n</talk>\n</corpus>\n"
    )
    rows = rows_of(tmp_path / "a.vrt", element="turn")
    assert rows.select("text", "who", "date", "lang").rows() == [
        ("Hi", "x", "1999", "en"),
        ("Hello!", "y", "1999", "en"),
    ]
    assert rows["annotation"].to_list() == ["Hi\thi\tUH", "Hello\thello\tUH"]


def test_the_text_of_an_edition_is_what_was_meant(tmp_path: Path) -> None:
    body = (
        "The <choice><sic>shipp</sic><corr>ship</corr></choice> of<lb/>the <hi>line</hi> sai<lb break='no'/>led "
        "<fw>page 7</fw><note>At dawn.</note> <choice><orig>vpon</orig><reg>upon</reg></choice> "
        "&amp; over &#x201c;it&#x201d;"
    )
    (tmp_path / "1750.xml").write_text(tei(1750, body=body), encoding="utf-8")
    assert rows_of(tmp_path / "1750.xml")["text"].to_list() == [
        "The ship of the line sailed At dawn. upon & over \u201cit\u201d"
    ]


def test_words_that_are_written_as_one(tmp_path: Path) -> None:
    lines = ["1-2\tdel\t_\t_", "1\tde\tde\tADP", "2\tel\tel\tDET", "3\tmar\tmar\tNOUN", "3.1\tes\tser\tAUX"]
    text = "# date = 1900\n" + "\n".join(line + "\t_" * 6 for line in lines) + "\n\n"
    (tmp_path / "a.conllu").write_text(text * 30)
    row = rows_of(tmp_path / "a.conllu").row(0, named=True)
    assert row["text"].split()[:4] == ["del", "mar", "del", "mar"]
    assert row["annotation"].splitlines()[:3] == ["del\tde\tADP", "\tel\tDET", "mar\tmar\tNOUN"]
    counts = {}
    for words in ("form", "lemma"):
        corpus = dw.prepare(tmp_path / "a.conllu", words=words, phrases=False, out=tmp_path / words)
        counts[words] = dict(zip(corpus.words, corpus.raw_counts.tolist(), strict=True))
        assert corpus.passages("mar", n=1)["keyword"].to_list() == ["mar"]
    assert counts == {"form": {"del": 30, "mar": 30}, "lemma": {"de": 30, "el": 30, "mar": 30}}


def test_words_without_a_lemma_are_counted_as_written_and_told(tmp_path: Path) -> None:
    source = folder(tmp_path / "letters", ".conllu", range(1850, 1854))
    for file in source.iterdir():
        file.write_text(file.read_text().replace("\tsail\t", "\t_\t"))
    corpus = dw.prepare(source, words="lemma", phrases=False, slices="2y", out=tmp_path / "c")
    assert "sailed" in corpus.words
    assert corpus.report.without_lemma == 12
    assert "without a lemma" in str(summarize(corpus))


def test_several_texts_of_one_file_and_dates_in_names(tmp_path: Path) -> None:
    corpus = "<teiCorpus xmlns='http://www.tei-c.org/ns/1.0'>" + "".join(
        tei(year, plain=True).partition("?>")[2] for year in (1700, 1701)
    )
    (tmp_path / "all.xml").write_text(f"{corpus}</teiCorpus>")
    assert rows_of(tmp_path / "all.xml")["date"].to_list() == ["1700-03-01", "1701-03-01"]
    (tmp_path / "1888.conllu").write_text(conllu(1850).replace("# date", "# day"))
    assert rows_of(tmp_path / "1888.conllu")["date"].to_list() == ["1888"]
    two = "\n".join(f"# date = {year}\n1\tsea\tsea\tNOUN" + "\t_" * 6 + "\n" for year in (1900, 1900, 1901))
    (tmp_path / "two.conllu").write_text(two)
    assert rows_of(tmp_path / "two.conllu").select("date", "text").rows() == [("1900", "sea sea"), ("1901", "sea")]
    packed = tmp_path / "1888.conllu.gz"
    packed.write_bytes(gzip.compress(conllu(1850).encode()))
    assert rows_of(packed)["date"].to_list() == ["1850-03-01"]


BOMB = '<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b "ha"><!ENTITY c "&b;&b;&b;">]><TEI><text>&c;</text></TEI>'
OUTSIDE = '<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/hostname">]><TEI><text>&b;</text></TEI>'


@pytest.mark.parametrize(
    ("name", "content", "options", "message"),
    [
        ("a.xml", BOMB, {}, "'.*a.xml' declares XML entities"),
        ("a.xml", OUTSIDE, {}, "declares XML entities"),
        ("a.xml", "<TEI><text>one", {}, "is not well-formed XML \\(no element found, line 1\\)"),
        ("a.xml", "just text", {}, "is not well-formed XML"),
        ("a.xml", "<TEI><teiHeader/><text>&nbsp;</text></TEI>", {}, "undefined entity"),
        ("a.xml", "<html><p>1900</p></html>", {}, "has no rows"),
        ("a.xml", "<TEI><text>a sea without a date</text></TEI>", {}, "Which column holds the time"),
        ("a.vrt", "<doc date='1900'>\nsea\tNN\tsea\n</doc>\n", {}, "has no <text>; name the element"),
        ("a.conllu", "1 sea sea NOUN\n", {}, "line 1 has 1 columns between tabs"),
        ("a.conllu", "", {}, "has no rows"),
        ("a.csv", "text,date\nsea,1900\n", {"words": "lemma"}, "the lemmas of its words; pass `lemmas=True`"),
        ("a.csv", "text,date\nsea,1900\n", {"words": "lemma_pos"}, "does not say which parts of speech"),
        ("a.csv", "text,date\nsea,1900\n", {"element": "div"}, "`element` is for TEI and VRT files"),
        ("a.csv", "text,date\nsea,1900\n", {"lemmas": True}, "language of the text cannot be told"),
        ("a.csv", "text,date\nsea,1900\n", {"lemmas": True, "lemma_language": "xx"}, "no lemmas for the language 'xx'"),
        ("a.csv", "text,date\nsea,1900\n", {"lemma_language": "en"}, "pass `lemmas=True`, or leave it out"),
        ("a.csv", "text,date\nsea,1900\n", {"tokens": "annotated"}, "does not say what its words are"),
        ("a.csv", "text,date\nsea,1900\n", {"columns": "lemma,pos"}, "one of them 'word'"),
        ("a.csv", "text,date\nsea,1900\n", {"variants": {"a b": "c"}}, "each must be a single word"),
        ("a.csv", "text,date\nsea,1900\n", {"variants": ["shew"]}, "give spellings and words"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_said(
    tmp_path: Path, name: str, content: str, options: dict[str, Any], message: str
) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(dw.DriftwordError, match=message):
        dw.prepare(tmp_path / name, out=tmp_path / "c", **options)
    assert not (tmp_path / "c").exists()


def test_a_bad_file_among_many_is_named_and_left_out(tmp_path: Path) -> None:
    source = folder(tmp_path / "letters", ".xml")
    (source / "1855.xml").write_text("<TEI><text>")
    with pytest.raises(dw.SourceError, match=r"1855\.xml' is not well-formed XML"):
        dw.prepare(source, out=tmp_path / "c")
    corpus = dw.prepare(source, out=tmp_path / "c", slices="5y", skip_bad_files=True)
    assert corpus.report.bad_file_examples == ("1855.xml",)
    assert corpus.report.documents == 11
    (source / "1855.xml").write_text(tei(1855, plain=True))
    with pytest.raises(dw.SourceError, match=r"has a text with no <w>, and those before it have"):
        dw.prepare(source, out=tmp_path / "d")


def test_lemmas_are_made_of_plain_text(tmp_path: Path) -> None:
    pytest.importorskip("simplemma")
    text = (
        "The changes of the year changed what changing men have said of it, and govern-\nments in this change.\n"
        "That it is for us to be as they are, which was with our own, as I have by now seen on it, or not.\n"
    )
    rows = [(text * 4, 1900 + i) for i in range(12)]
    corpus = dw.prepare(rows, lemmas=True, phrases=False, slices="6y", out=tmp_path / "c")
    assert corpus.options.words == "lemma"
    assert corpus.options.lemma_language == "en"
    counts = dict(zip(corpus.words, corpus.raw_counts.tolist(), strict=True))
    assert counts["change"] == 4 * 12 * 4
    assert {"changes", "changed", "changing", "governments"}.isdisjoint(counts)
    assert counts["government"] == 48
    lines = dw.Corpus.open(tmp_path / "c").passages("change", n=192)
    assert set(lines["keyword"]) == {"changes", "changed", "changing", "change"}
    assert set(corpus.passages("government", n=3)["keyword"]) == {"govern- ments"}
    german = dw.prepare([("Häuser und Bäume", 1900)] * 9, lemmas=True, lemma_language="de", out=tmp_path / "d")
    assert {"haus", "baum"} < set(german.words)


def test_other_spellings_are_read_as_one(tmp_path: Path) -> None:
    text = "I haue ſeen vpon the ﬁeld what they shew; iustice and vvater, euer seen. Value, queen, vines, ion."
    corpus = dw.prepare(
        [(text, 1600)] * 9, old_letters=True, variants={"Shew": "show"}, phrases=False, out=tmp_path / "c"
    )
    assert {"have", "seen", "upon", "field", "show", "justice", "water", "ever"} < set(corpus.words)
    assert {"value", "queen", "vines"} < set(corpus.words)
    assert corpus.passages("show", n=1)["keyword"].to_list() == ["shew"]
    assert dw.Corpus.open(tmp_path / "c").options.variants == {"shew": "show"}


def test_text_that_may_be_misread_is_told(tmp_path: Path) -> None:
    noisy = dw.prepare([("t he sh1p of th e line i s a ship " * 9, 1900)] * 9, phrases=False, out=tmp_path / "c")
    assert noisy.report.suspicious == {"single letters": 162, "letters and digits in one word": 81}
    assert "of the words are single letters" in str(summarize(noisy))
    clean = dw.prepare([("a ship of the line is a ship " * 9, 1900)] * 9, phrases=False, out=tmp_path / "d")
    assert clean.report.suspicious == {}
