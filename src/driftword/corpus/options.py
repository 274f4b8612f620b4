"""`PrepareOptions`: every option of `prepare`, checked once. The command line and stored metadata follow it.

It imports nothing that loads Polars before a check needs it, so that the help of commands is shown at once.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Final

from driftword.basics import checks
from driftword.basics.errors import OptionError
from driftword.basics.suggestions import did_you_mean

if TYPE_CHECKING:
    from driftword.corpus.slices import SliceRule

Tokenizer = Callable[[str], list[str]]
CONNECTORS: Final = (
    *("a", "an", "the", "of", "and", "or", "for", "to", "in", "on", "at", "by", "with", "from", "as"),
    *("de", "la", "le", "les", "du", "des", "et", "en", "au", "aux", "el", "los", "las", "del", "y"),
    *("da", "do", "dos", "das", "e", "di", "della", "dei"),
    *("und", "der", "den", "dem", "von", "für", "zu", "van", "het"),
)
PHRASE_THRESHOLD: Final = 0.45
#: How text may be split, by name.
TOKENS: Final = ("words", "whitespace", "list", "chinese", "japanese")
SEGMENTED: Final = ("chinese", "japanese")  # written without spaces; see `segmenters`
COPIES: Final = ("one", "drop", "keep")
CUSTOM: Final = "custom"  # by a user's own function
ANNOTATED: Final = "annotated"  # by the source
#: As what a word may be counted.
FORM, LEMMA, LEMMA_POS = WORDS = ("form", "lemma", "lemma_pos")
#: A word that occurs less often in a slice has a vector there that is mostly interpolated.
MIN_COUNT: Final = 5


@dataclass(frozen=True)
class PrepareOptions:
    """How dated text becomes a corpus.

    Parameters
    ----------
    text
        Column that holds the text; by default one with a usual name, such as ``text`` or ``body``.
    time
        Column that holds the date; by default one with a usual name, such as ``date`` or ``year``.
    slices
        How to divide time: ``"1y"``, ``"10y"``, ``"1q"``, ``"1mo"`` or ``"1w"``; ``"equal:N"`` for N slices with about
        as many words each; edges such as ``"1946,1970,1991,2023"``; or periods such as ``"1810-1860,1960-2010"``, where
        what was written between them is left out. In Python edges and periods may be lists.
    vocabulary
        Number of words to keep, the most frequent ones.
    min_count
        How often a word must occur to be kept; by default 5 times, fewer in texts of under 100,000 words.
    stopwords
        Words to leave out.
    keep
        Words to keep however rare they are; they are not joined into phrases.
    tokens
        How text is split: ``"words"`` finds them in running text; ``"whitespace"`` is for text whose words are
        separated by spaces already; ``"list"`` is for a column of lists of words, which is also noticed automatically;
        ``"chinese"`` and ``"japanese"`` tell words apart that have no spaces between them, and need
        ``pip install 'driftword[chinese]'`` or ``'driftword[japanese]'``.
        In Python it may be a function from a text to its words.
    words
        What counts as a word, where a TEI, CoNLL-U or VRT source says what each is: ``"form"``, as it is written;
        ``"lemma"``, as a dictionary lists it; or ``"lemma_pos"``, that with its part of speech, such as walk_verb.
    lemmas
        Make lemmas here, for text that comes without any: change, changes and changed are one word. Needs
        ``pip install 'driftword[lemmas]'``.
    lemma_language
        Language of lemmas that are made here, such as ``"fr"``, or several, such as ``"de,en"``; by default it is told
        from the text.
    variants
        Other spellings of words, and as what they are counted, such as shew as show.
    old_letters
        Read letters of old print as those of today: long s, ligatures, and v for u or i for j where one must be meant.
    element
        Element of a TEI or VRT source that is a document, such as ``"div"``, ``"sp"`` or ``"u"``; by default each text.
    columns
        Names of the columns of VRT files, with commas between them, of which word, lemma and pos are read.
    numbers
        Keep numbers as words.
    phrases
        Join frequent collocations such as "health care" into one word; words with parts of speech are not joined.
    phrase_threshold
        Smallest normalised PMI of a phrase: 0 is chance, 1 means never apart.
    phrase_min_count
        How often a phrase must occur; by default 10 times, or once in a million words if that is more.
    connectors
        Words that may occur inside a phrase but not at its ends.
    subsample
        Threshold t of the subsampling, such as 1e-5; ``"auto"`` chooses it by the size of the corpus, ``"none"`` keeps
        all tokens.
    group
        Column that divides the documents into groups, such as country or party; models then also have embeddings of
        each group.
    groups
        Values of that column that become groups, or how many of the largest; all other documents are one group more,
        ``"others"``. On the command line values are separated by commas. By default all values, if they are few.
    copies
        What becomes of documents that are copies of an earlier one, word for word or nearly: ``"one"`` counts them with
        the first as one piece of evidence in tests, ``"drop"`` leaves them out, ``"keep"`` takes each for a document of
        its own.
    unit
        Column whose values name the units of evidence, such as the debate that a speech is from; by default every
        document is one.
    time_format
        Format of the dates, such as ``%d/%m/%Y``, or ``%y`` for two-digit years; or ``"seconds"``,
        ``"milliseconds"``, ``"microseconds"`` or ``"nanoseconds"`` since 1970.
    time_from_name
        Regular expression that finds the date in the path of a .txt file.
    encoding
        Encoding of text, CSV and JSON files, such as ``"cp1252"`` or ``"shift_jis"``; by default it is detected for
        each file.
    language
        Keep only documents in this language, such as ``"en"``, and those too short to tell; needs
        ``pip install 'driftword[language]'``.
    skip_bad_dates
        Leave out, and report, documents whose date cannot be read.
    skip_bad_rows
        Leave out, and report, malformed rows.
    skip_bad_files
        Leave out, and report, files that cannot be read to their end.
    """

    text: str | None = None
    time: str | None = None
    slices: SliceRule = "1y"
    vocabulary: int = 25_000
    min_count: int | None = None
    stopwords: Collection[str] = ()
    keep: Collection[str] = ()
    tokens: str | Tokenizer = "words"
    words: str = FORM
    lemmas: bool = False
    lemma_language: str | None = None
    variants: Mapping[str, str] | None = None
    old_letters: bool = False
    element: str | None = None
    columns: str = "word,pos,lemma"
    numbers: bool = False
    phrases: bool = True
    phrase_threshold: float = PHRASE_THRESHOLD
    phrase_min_count: int | None = None
    connectors: Collection[str] = CONNECTORS
    subsample: float | str | None = "auto"
    group: str | None = None
    groups: Collection[str] | int | None = None
    copies: str = "one"
    unit: str | None = None
    time_format: str | None = None
    time_from_name: str | None = None
    encoding: str | None = None
    language: str | None = None
    skip_bad_dates: bool = False
    skip_bad_rows: bool = False
    skip_bad_files: bool = False

    def __post_init__(self) -> None:
        from driftword.corpus.groups import check_groups
        from driftword.corpus.slices import check_rule
        from driftword.corpus.spellings import check_columns, check_variants
        from driftword.corpus.subsampling import check_subsample
        from driftword.sources.dates import DateReader

        checked: dict[str, Any] = {}
        for name in (
            "skip_bad_dates",
            "skip_bad_rows",
            "skip_bad_files",
            "numbers",
            "phrases",
            "lemmas",
            "old_letters",
        ):
            checked[name] = checks.flag(name, getattr(self, name))
        checked["copies"] = checks.one_of("copies", self.copies, COPIES)
        for name in ("text", "time", "group", "unit"):
            checked[name] = checks.optional(checks.text, name, getattr(self, name), lines=True)
        for name in ("time_format", "time_from_name", "encoding", "language"):
            checked[name] = checks.optional(checks.text, name, getattr(self, name))
        if not callable(self.tokens) and not (isinstance(self.tokens, str) and self.tokens in (CUSTOM, ANNOTATED)):
            checked["tokens"] = checks.one_of("tokens", self.tokens, TOKENS)
        checked["words"] = checks.one_of("words", self.words, WORDS)
        for name in ("element", "lemma_language"):
            checked[name] = checks.optional(checks.text, name, getattr(self, name))
        checked["columns"] = check_columns(self.columns)
        checked["variants"] = check_variants(self.variants)
        if checked["lemma_language"] is not None and not checked["lemmas"]:
            raise OptionError("`lemma_language` is for lemmas that are made here; pass `lemmas=True`, or leave it out")
        if checked["lemmas"] and self.words == FORM:
            checked["words"] = LEMMA
        checked["phrases"] = checked["phrases"] and checked["words"] != LEMMA_POS
        checked["slices"] = check_rule(self.slices)
        for name in ("connectors", "stopwords", "keep"):
            checked[name] = tuple(checks.word_list(name, getattr(self, name)))
        checked["groups"] = check_groups(checked["group"], self.groups)
        checked["vocabulary"] = checks.whole("vocabulary", self.vocabulary, least=1)
        for name in ("min_count", "phrase_min_count"):
            checked[name] = checks.optional(checks.whole, name, getattr(self, name), least=1)
        checked["phrase_threshold"] = checks.real("phrase_threshold", self.phrase_threshold, low=-1, high=1)
        checked["subsample"] = check_subsample(self.subsample)
        DateReader("date", checked["time_format"])
        for name, value in checked.items():  # NumPy's numbers become Python's, which JSON knows
            object.__setattr__(self, name, value)

    @classmethod
    def of(cls, options: PrepareOptions | None, changes: Mapping[str, Any]) -> PrepareOptions:
        """Return the options that a user gave, or the defaults for None, with some of them changed by name."""
        if options is not None and not isinstance(options, PrepareOptions):
            raise OptionError(
                f"`options` is {checks.shown(options)}; give a PrepareOptions, such as dw.PrepareOptions(text='body')"
            )
        known = {field.name for field in fields(cls)}
        for name in changes:
            if name not in known:
                raise OptionError(f"`{name}` is not an option of prepare{did_you_mean(name, known)}")
        kept = {} if options is None else {name: getattr(options, name) for name in known}
        return cls(**{**kept, **changes})

    @classmethod
    def from_dict(cls, options: Mapping[str, Any]) -> PrepareOptions:
        """Read back what `to_dict` gave; unknown names are ignored."""
        if not isinstance(options, Mapping):
            raise OptionError(f"`options` is {checks.shown(options)}; give what `to_dict` returned")
        known = {field.name for field in fields(cls)}
        return cls(**{name: value for name, value in options.items() if name in known})

    def to_dict(self) -> dict[str, Any]:
        """Return the options ready for JSON; a function given as `tokens` is only named."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {**values, "tokens": CUSTOM if callable(self.tokens) else self.tokens}
