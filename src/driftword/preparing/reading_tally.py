"""What was counted while a source was read, in one go or in parts, and whether it can make a corpus."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Final

from driftword.basics.errors import SourceError
from driftword.corpus.preparation_report import PreparationReport
from driftword.preparing.text_stages import ReadingRequest
from driftword.sources.dates import LONGEST_DATE, TWO_DIGIT_REMEDY, DateReader, has_two_digits
from driftword.sources.text_streams import ReadingState

EXAMPLES: Final = 5  # of dates that cannot be read, and of files


@dataclass
class Tally:
    """What was read so far; see `PreparationReport`."""

    rows: int = 0
    no_text: int = 0
    bad_rows: int = 0
    bad_dates: int = 0
    examples: list[tuple[int, str | None]] = field(default_factory=list)  # row and value of the first bad dates
    replaced: int = 0  # characters that could not be decoded
    no_lemma: int = 0  # words that have none, where lemmas are counted
    documents: int = 0  # that are left
    other_languages: Counter[str] = field(default_factory=Counter)
    detected_encodings: Counter[str] = field(default_factory=Counter)
    bad_files: list[str] = field(default_factory=list)  # names
    magnitudes: Counter[int] = field(default_factory=Counter)  # of numbers counted from 1970; see `DateReader`

    def notice(self, state: ReadingState) -> None:
        """Record what was noticed while files were read."""
        self.bad_rows, self.bad_files = state.bad_rows, list(state.bad_files)
        self.detected_encodings = Counter(state.detected_encodings)

    def __add__(self, later: Tally) -> Tally:
        """Return what was counted in these rows and in those after them."""
        total = Tally(**{one.name: getattr(self, one.name) + getattr(later, one.name) for one in fields(Tally)})
        examples = [*self.examples, *((self.rows + row, value) for row, value in later.examples)]
        total.examples = examples[:EXAMPLES]
        return total

    @classmethod
    def from_dict(cls, facts: Mapping[str, Any]) -> Tally:
        """Read back what `to_dict` gave."""
        counters = {name: Counter(facts[name]) for name in ("other_languages", "detected_encodings")}
        magnitudes = Counter({int(magnitude): count for magnitude, count in facts["magnitudes"].items()})
        examples = [(row, value) for row, value in facts["examples"]]
        return cls(**{**facts, **counters, "magnitudes": magnitudes, "examples": examples})

    def to_dict(self) -> dict[str, Any]:
        """Return the facts ready for JSON."""
        return dict(vars(self))

    def report(self) -> PreparationReport:
        """Return what was read and left out so far."""
        return PreparationReport(
            rows=self.rows,
            no_text=self.no_text,
            bad_rows=self.bad_rows,
            bad_files=len(self.bad_files),
            bad_file_examples=tuple(self.bad_files[:EXAMPLES]),
            bad_dates=self.bad_dates,
            bad_date_examples=tuple((row, str(value)[:LONGEST_DATE]) for row, value in self.examples),
            other_languages=dict(self.other_languages.most_common()),
            replaced_characters=self.replaced,
            without_lemma=self.no_lemma,
            detected_encodings=dict(self.detected_encodings),
        )

    def check(self, dates: DateReader, request: ReadingRequest, *, named_files: bool) -> None:
        """Raise `SourceError` if what was read cannot make a corpus; `named_files` have their dates in their names."""
        dates.magnitudes.clear()
        dates.magnitudes.update(self.magnitudes)
        dates.check_unit()
        if self.rows == 0 and self.bad_files:
            named = ", ".join(f"'{name}'" for name in self.bad_files[:EXAMPLES])
            raise SourceError(f"No file of the source can be read ({named}); leave out `skip_bad_files` to see why")
        if self.rows == 0:
            raise SourceError("The source has no rows; it needs at least one document with a text and a date")
        if self.bad_dates and not (request.skip_bad_dates and (self.documents or self.other_languages)):
            raise self._no_dates(dates.column, skipped=request.skip_bad_dates, named_files=named_files)
        if not self.documents and request.language is not None and self.other_languages:
            others = ", ".join(f"{count:,} in '{code}'" for code, count in self.other_languages.most_common())
            language = request.language.lower()
            raise SourceError(f"No document is in the language '{language}' ({others}); give another `language`")
        if not self.documents:
            raise SourceError(f"All {self.rows:,} rows have an empty text; name another column with `text`")

    def _no_dates(self, column: str, *, skipped: bool, named_files: bool) -> SourceError:
        if named_files:
            names = ", ".join(f"'{value}'" for _, value in self.examples)
            files = (
                "1 file has no certain date in its name or folder"
                if self.bad_dates == 1
                else f"{self.bad_dates:,} files have no certain date in their names or folders"
            )
            return SourceError(
                f"{files} ({names}); pass `time_from_name` with a regular expression that finds it, and `time_format` "
                "if it can be read in two ways; or `skip_bad_dates=True` to leave them out"
            )
        shown = ", ".join(f"row {row}: {shown_value(value)}" for row, value in self.examples)
        documents = "1 document has" if self.bad_dates == 1 else f"{self.bad_dates:,} documents have"
        remedy = "pass `skip_bad_dates=True` to leave them out, or `time_format` to say how dates are written"
        if any(value and has_two_digits(value) for _, value in self.examples):
            remedy = f"{TWO_DIGIT_REMEDY}, or `skip_bad_dates=True` to leave them out"
        if skipped:
            remedy = "none could be used, so name another column with `time`, or pass `time_format`"
        return SourceError(f"{documents} a date in column '{column}' that cannot be read ({shown}); {remedy}")


def shown_value(value: str | None) -> str:
    """Return a value of a table as an error shows it."""
    return "empty" if value is None or value == "" else f"'{value[:40]}'"
