from __future__ import annotations

from promptpex.core.records import Problem


def test_a_finding_is_one_line_whatever_its_file_is_called() -> None:
    problem = Problem(
        path="a.md: error: none\r\nb\u2028c.md", line=3, message="the file\nx is odd", suggestion="rename it"
    )
    assert problem.text() == "a.md: error: none\ufffdb\ufffdc.md:3: error: the file\ufffdx is odd; rename it"
