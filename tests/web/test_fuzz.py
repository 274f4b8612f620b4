"""Whatever the address, the explorer answers with a page or an error message, never with a fault of its own."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import driftword as dw
from driftword.web.app import make_app

pytestmark = pytest.mark.slow

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of schemathesis's own making
    import schemathesis
    from schemathesis.checks import not_a_server_error

#: Values that random text hardly ever hits; half of the addresses are made with these.
REAL = {
    "word": ["ship", "wheat", "the"],
    "words": ["ship,wheat", "court"],
    "label": ["1850", "1853"],
    "at": [["1851"], ["1850", "1859"]],
    "from": ["1851"],
    "to": ["1858"],
    "passages_at": ["1853", ""],
    "low": ["barn"],
    "high": ["anchor,storm"],
    "others": ["judge"],
    "reference": ["1855"],
    "kind": ["changes", "neighbors"],
    "figure": ["trajectory", "pace", "axis", "change"],
    "form": ["svg"],
    "metric": ["cosine", "relative"],
    "sort": ["word"],
}


@pytest.fixture(scope="module")
def described(small_model: dw.Model) -> Any:
    app = make_app(small_model, small_model.open_corpus(), hosts=None)
    return schemathesis.openapi.from_asgi("/openapi.json", app)


def test_no_address_breaks_it(described: Any) -> None:
    operations = [found.ok() for found in described.get_all_operations()]
    assert len(operations) > 20
    statuses = set()
    for operation in operations:

        @given(case=operation.as_strategy(), real=st.fixed_dictionaries({}, optional=_choices()))
        @settings(max_examples=8, suppress_health_check=list(HealthCheck), database=None, phases=[Phase.generate])
        def ask(case: Any, real: dict[str, Any]) -> None:
            for place in (case.path_parameters, case.query):
                for name in place if place else ():
                    place[name] = real.get(name, place[name])
            statuses.add(case.call_and_validate(checks=[not_a_server_error]).status_code)

        ask()
    assert {200, 404, 422} <= statuses


def _choices() -> dict[str, st.SearchStrategy[Any]]:
    return {name: st.sampled_from(values) for name, values in REAL.items()}
