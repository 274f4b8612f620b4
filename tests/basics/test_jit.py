"""What a bar says while functions are compiled."""

from __future__ import annotations

from driftword.basics.jit import compiling_shown, njit
from driftword.basics.progress import Progress


class _Bar(Progress):
    def __init__(self) -> None:
        super().__init__()
        self.said: list[str | None] = []

    def update(self, *, done: float | None = None, more: float = 0, facts: str | None = None) -> None:
        self.said.append(facts)


def test_a_bar_says_when_a_function_is_compiled_and_only_then() -> None:
    bar, function = _Bar(), njit(lambda x: x + 1)
    with compiling_shown(bar):
        assert function(1) == 2
    assert bar.said == ["compiling, only once"]
    with compiling_shown(bar):
        assert function(2) == 3  # of the same type, so it is compiled already
    function(1.5)  # of another type, but nobody looks any more
    assert len(bar.said) == 1
