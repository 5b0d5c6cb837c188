"""The code of a metric: compiled once, within the time of one check on all outputs."""

from __future__ import annotations

import pytest

from promptpex.assertions.time_limits import CHECKS_SECONDS
from promptpex.core.time_allowance import EACH_SECONDS
from promptpex.workflow.metrics import compiled_code


def test_all_outputs_share_the_time_of_one_check() -> None:
    code = compiled_code("output.length > 3")
    assert [code.result(text, {}).status for text in ("RED", "BLUE")] == ["fail", "pass"]
    time = code.compiled.steps[0].time
    assert time.seconds == pytest.approx(CHECKS_SECONDS + 2 * EACH_SECONDS)
    time.seconds = 0.0
    time.each = 0.0
    assert code.result("GREEN", {}).unscored == "timeout"


def test_a_script_sees_itself_among_the_assertions_of_its_test() -> None:
    body = "return context.test.assert[0].value.includes('assert')"
    result = compiled_code(body).result("RED", {"thing": "rose"})
    assert (result.status, result.reason) == ("pass", "the script gave true")
