"""What the classes of openai/evals hold an output to, as checks of ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from promptpex.core.errors import InputError
from promptpex.core.records import Check, Rule
from promptpex.interchange.reading.exchanges import Exchange

IDEAL = "ideal"
"""The input with all right answers, where a check has to see more than the expected one."""
_EXPECTED = "{{expected}}"
_SPACES = r"\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_FUZZY = r"""
const plain = (text) => text.toLowerCase().replace(/[!-\/:-@\[-`{-~]/g, "")
  .replace(/(?<![\p{L}\p{N}])(?:an|a|the)(?![\p{L}\p{N}])/gu, " ")
  .split(/[SPACES]+/).filter(Boolean).join(" ");
const said = plain(output);
return context.vars.ideal.some((text) => {
  const right = plain(text);
  return said === "" || right === "" ? said === right : said.includes(right) || right.includes(said);
});
""".strip().replace("SPACES", _SPACES)
_JSON = """
const same = (one, two) => {
  if (one === null || two === null || typeof one !== typeof two) return false;
  if (typeof one !== "object") return one === two;
  if (Array.isArray(one) !== Array.isArray(two)) return false;
  const names = Object.keys(one), others = Object.keys(two);
  if (names.length !== others.length) return false;
  return names.every((name) => Object.hasOwn(two, name) && same(one[name], two[name]));
};
let said;
try { said = JSON.parse(output); } catch { return false; }
return context.vars.ideal.some((text) => same(said, JSON.parse(text)));
""".strip()


@dataclass(frozen=True, slots=True)
class Grading:
    """What a class demands.

    Attributes:
        theirs: the class. sentence: the rule.
        kind: of a check that holds the output against the expected one, where there is one right answer.
        script: JavaScript that holds it against all right answers.
        comparison: how accuracy compares, where it is not as usual.
    """

    theirs: str
    sentence: str
    kind: str | None = None
    script: str | None = None
    comparison: str | None = None

    @property
    def value(self) -> str | None:
        """The value of a check of its kind."""
        return None if self.kind == "is-json" else _EXPECTED

    @staticmethod
    def of(template: str | None) -> Grading | None:
        """The grading of a template's name.

        Raises:
            InputError: there is none of this name.
        """
        if template is None:
            return None
        if template not in TEMPLATES:
            raise InputError(f"there is no template {template[:40]!r}; choose from {', '.join(TEMPLATES)}")
        return TEMPLATES[template]

    def check(self, exchanges: Sequence[Exchange]) -> Check:
        """The check for these samples; it sees all right answers of a sample where one has several."""
        needs_all = self.script is not None and not all(map(has_one, exchanges))
        if self.kind is None or needs_all:
            return Check(kind="javascript", value=self.script)
        return Check(kind=self.kind, value=self.value)

    def rule(self, rule_id: str, exchanges: Sequence[Exchange]) -> Rule:
        """Its rule for these samples."""
        return Rule(id=rule_id, rule=self.sentence, checks=(self.check(exchanges),), origin="added")


TEMPLATES: Mapping[str, Grading] = {
    "match": Grading(
        "evals.elsuite.basic.match:Match",
        "The output starts with a right answer.",
        "starts-with",
        "context.vars.ideal.some((text) => output.startsWith(text))",
    ),
    "includes": Grading(
        "evals.elsuite.basic.includes:Includes",
        "The output holds a right answer.",
        "contains",
        "context.vars.ideal.some((text) => output.includes(text))",
    ),
    "includes-ignore-case": Grading(
        "evals.elsuite.basic.includes:Includes",
        "The output holds a right answer, in upper or lower case.",
        "icontains",
        "context.vars.ideal.some((text) => output.toLowerCase().includes(text.toLowerCase()))",
    ),
    "fuzzy-match": Grading(
        "evals.elsuite.basic.fuzzy_match:FuzzyMatch",
        "The output holds a right answer or is part of one, whatever its case, punctuation and articles.",
        script=_FUZZY,
    ),
    "json-match": Grading(
        "evals.elsuite.basic.json_match:JsonMatch",
        "The output is JSON and the same as a right answer.",
        script=_JSON,
        comparison="json",
    ),
    "json-validator": Grading("evals.elsuite.basic.json_validator:JsonValidator", "The output is JSON.", "is-json"),
}
"""By our name of a template what its class demands."""


def sees_all(rules: Sequence[Rule]) -> bool:
    """Whether a rule's check looks at all right answers of a sample."""
    return any(check.kind == "javascript" for rule in rules for check in rule.checks)


def has_one(exchange: Exchange) -> bool:
    """Whether a sample has one right answer, which a template can name."""
    return len(exchange.expected) == 1 and bool(exchange.expected[0])
