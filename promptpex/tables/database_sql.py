"""The tables of a run's database, and how what became of outputs and rules is decided there.

What SQL decides is what ``core.outcomes`` decides of records; a test compares the two.
"""

from __future__ import annotations

from collections.abc import Iterable

from promptpex.core.records import CUT, EXPECTED, NOT_ASKED, NOT_CONCERNED


def texts(values: Iterable[str]) -> str:
    """Texts of this package as a list of SQL."""
    return "({})".format(", ".join(f"'{value}'" for value in sorted(values)))


ASKED_NOT = texts(NOT_ASKED)
CUT_OFF = texts(CUT.values())
MILD = texts(("pass", NOT_CONCERNED))

SCHEMA = """
CREATE TABLE cases (number INTEGER PRIMARY KEY, id TEXT, aim TEXT, inverse INTEGER, scenario TEXT, inputs TEXT);
CREATE TABLE models (number INTEGER PRIMARY KEY, name TEXT);
CREATE TABLE repeats (number INTEGER PRIMARY KEY, repeat INTEGER);
CREATE TABLE output (
    place INTEGER PRIMARY KEY, key INTEGER, text TEXT, error TEXT, message TEXT, finish_reason TEXT, tokens_in INTEGER,
    tokens_out INTEGER, cost_usd REAL, latency_ms REAL, model_reported TEXT, request TEXT
);
CREATE TABLE verdict (
    place INTEGER PRIMARY KEY, key INTEGER, rule TEXT, status TEXT, reason TEXT, unscored TEXT, source TEXT,
    counts INTEGER, turn INTEGER, confidence REAL, fingerprint TEXT
);
CREATE TABLE score (
    place INTEGER PRIMARY KEY, key INTEGER, name TEXT, value REAL, reason TEXT, unscored TEXT, source TEXT,
    counts INTEGER, turn INTEGER, fingerprint TEXT
);
"""
"""``place`` is the number of a record in its file, ``key`` tells an output from others; ``inputs`` is JSON."""

BROKEN, KEPT, OPEN, LOST, UNASKED = range(5)

KIND = f"""CASE
    WHEN coalesce(o.error, '') IN {ASKED_NOT} OR coalesce(t.unscored, '') IN {ASKED_NOT} OR NOT coalesce(t.asked, 1)
        THEN {UNASKED}
    WHEN t.verdict = 'fail' THEN {BROKEN}
    WHEN t.verdict = 'pass' THEN {KEPT}
    WHEN o.error IS NULL OR o.error IN {CUT_OFF} THEN {OPEN}
    ELSE {LOST}
END"""
"""What an output counts as: it breaks a rule, keeps all, is usable and has no verdict, is not usable; or it was not
asked for, or not judged as far as it could be."""

_COLUMNS = "t.place, t.key, t.verdict, t.unscored, t.asked, t.broken_rules, t.contradicted, t.reasons, t.error"
_WITH_KIND = f"CREATE TABLE {{name}} AS SELECT {_COLUMNS}, {KIND} AS kind FROM ({{rows}}) t JOIN output o USING (place)"

NOT_REACHED = f"turn = 0 AND unscored IN {ASKED_NOT}"

RULED = f"""
CREATE TABLE {{name}} AS
SELECT key, rule, first, cut, open, coalesce(fail, open, left_out, kept) AS place,
    CASE WHEN fail IS NOT NULL THEN 'fail' WHEN open IS NOT NULL THEN 'unscored'
        WHEN left_out IS NOT NULL THEN '{NOT_CONCERNED}' ELSE 'pass' END AS status,
    fail IS NOT NULL AND (fails_otherwise OR NOT coalesce(is_milder, 0)) AS is_upheld
FROM (
    SELECT key, rule,
        min(CASE WHEN counts THEN place END) AS first,
        min(CASE WHEN counts AND status = 'fail' THEN place END) AS fail,
        min(CASE WHEN counts AND status = 'unscored' THEN place END) AS open,
        min(CASE WHEN counts AND status = '{NOT_CONCERNED}' THEN place END) AS left_out,
        min(CASE WHEN counts AND status = 'pass' THEN place END) AS kept,
        CASE WHEN max(counts AND source GLOB 'judges:*') THEN min(CASE WHEN {NOT_REACHED} THEN place END)
            ELSE min(CASE WHEN {NOT_REACHED} AND counts THEN place END) END AS cut,
        max(counts AND status = 'fail' AND source NOT GLOB 'check:*') AS fails_otherwise,
        (total(source GLOB 'judge:*' AND turn = 0) = 1
            AND max(source GLOB 'judge:*' AND turn = 0 AND status IN {MILD}))
            OR max(source GLOB 'judges:*' AND status IN {MILD}) AS is_milder
    FROM verdict WHERE {{where}} GROUP BY key, rule
) WHERE first IS NOT NULL
"""
"""What became of each rule on each output on which a verdict counts: of several the heaviest decides, and of those the
first (``place``). ``cut`` is the first verdict that would have decided it and was not asked for any more. A failure is
upheld unless checks alone find it and the one judge, or the judges together, do not."""

JUDGED = _WITH_KIND.format(
    name="{name}",
    rows=f"""
    SELECT o.place, o.key, o.error, coalesce(r.verdict, 'unscored') AS verdict,
        CASE WHEN r.verdict IS NULL OR r.verdict = 'unscored'
            THEN coalesce(v.unscored, o.error, 'no-judge') END AS unscored,
        coalesce(r.asked, 1) AND coalesce(o.error, '') NOT IN {ASKED_NOT} AS asked,
        w.broken_rules, coalesce(r.contradicted, 0) AS contradicted, b.reasons
    FROM output o
    LEFT JOIN (
        SELECT key, cut IS NULL AS asked, max_upheld = 0 AND is_failing AS contradicted, coalesce(cut, open) AS place,
            CASE WHEN cut IS NOT NULL THEN 'unscored' WHEN is_failing THEN 'fail' WHEN open IS NOT NULL
                THEN 'unscored' ELSE 'pass' END AS verdict
        FROM (
            SELECT key, min(cut) AS cut, min(open) AS open, max(status = 'fail') AS is_failing,
                max(is_upheld) AS max_upheld
            FROM {{ruled}} GROUP BY key
        )
    ) r ON r.key = o.key
    LEFT JOIN verdict v ON v.place = r.place
    LEFT JOIN (
        SELECT key, group_concat(rule, ' ') AS broken_rules FROM (
            SELECT key, rule FROM {{ruled}} WHERE status = 'fail' ORDER BY key, place
        ) GROUP BY key
    ) w ON w.key = o.key
    LEFT JOIN (
        SELECT key, group_concat(line, char(10)) AS reasons FROM (
            SELECT key, rule || ': ' || coalesce(reason, '') AS line FROM verdict
            WHERE counts AND status = 'fail' AND {{where}} ORDER BY key, place
        ) GROUP BY key
    ) b ON b.key = o.key
    ORDER BY o.place
""",
)
"""What became of each output."""

GIVEN = _WITH_KIND.format(
    name="judged",
    rows="""
    SELECT place, key, error, verdict, unscored, asked, rules AS broken_rules, contradicted, reasons
    FROM given JOIN output USING (place)
""",
)

COMPARED = _WITH_KIND.format(
    name="compared",
    rows=f"""
    SELECT j.place, j.key, j.error, s.unscored, j.broken_rules, j.contradicted, j.reasons,
        CASE WHEN s.value IS NULL THEN 'unscored' WHEN s.value = 1.0 THEN 'pass' ELSE 'fail' END AS verdict,
        NOT (coalesce(s.unscored, '') IN {ASKED_NOT} OR coalesce(j.error, '') IN {ASKED_NOT}) AS asked
    FROM judged j
    JOIN (
        SELECT key, min(place) AS place FROM score WHERE name = '{EXPECTED}' AND counts AND turn = 0 GROUP BY key
    ) f ON f.key = j.key
    JOIN score s ON s.place = f.place
    ORDER BY j.place
""",
)
"""The outputs that were compared with an expected one: right ones pass, wrong ones fail."""

JOINED = (
    "JOIN cases c ON c.number = {0}.key >> 38 JOIN models m ON m.number = ({0}.key >> 24) & 16383 "
    "JOIN repeats n ON n.number = {0}.key & 16777215"
)
"""Joins what the key of a table tells."""
