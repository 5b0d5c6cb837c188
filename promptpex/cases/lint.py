"""Lint: what code can see to be wrong with a case, without asking a model, in any language.

An ``error`` makes a case unusable; a ``warning`` asks people to look. A case that is wrongly thrown away costs more
than one that is wrongly kept, since it also costs the request that replaces it: what is not sure is a warning. What a
rule sounds like is taken from the spec: its words, and the subject that most rules begin with ("The output").
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

from promptpex.cases import degenerate_text
from promptpex.cases.comparable_words import folded, sentences, words
from promptpex.cases.degenerate_text import of_language, scripts_of, share_in, speaks_of_languages, wants_marks
from promptpex.cases.input_specs import type_problems
from promptpex.codecs.text.inputs_as_text import value_text
from promptpex.core.records import WHOLE_INPUT, Case, Prompt, Rule, Spec, Suite

_OPENERS = (
    "here are", "here is", "here's", "here re", "below are", "below is", "these are", "the following", "sure",
    "certainly", "of course", "hier sind", "hier ist", "voici", "aquí están", "aquí tienes", "a continuación",
    "aqui estão", "ecco", "hier zijn", "dưới đây là", "sau đây là", "вот", "ниже", "以下是", "以下は", "다음은",
    "فيما يلي", "यहाँ", "oto", "zde", "işte", "berikut",
)  # fmt: skip
_THINGS = (
    r"test[\s_-]*(?:cases?|inputs?|data|eingaben?|fälle|fall|gevallen)|sample inputs?|example inputs?|inputs? that|"
    r"valid inputs?|casos? de (?:prueba|teste)|cas de test|entrées de test|casi di test|trường hợp kiểm thử|"
    r"đầu vào kiểm thử|тестов\w+ (?:пример|вход|случа)\w*|测试(?:用例|输入)|測試|テスト(?:ケース|入力)|테스트"
)
_PREAMBLE = re.compile(rf"^\W*(?:please\s+provide|(?:{'|'.join(map(re.escape, _OPENERS))}))\b.*?(?:{_THINGS})", re.I)
_LABEL = re.compile(r"^\W*test[\s_-]*(?:case|input)s?\s*(?:no\.?|nr\.?|number|#)?\s*\d*\s*[:.)\-–]\s*\S", re.I)
_COLUMNS = frozenset(
    ("ruleid", "rule id", "testid", "test id", "testinput", "test input", "expectedoutput", "expected output",
     "reasoning", "scenario", "input", "inputs", "rule", "id", "expected", "output")
)  # fmt: skip


def preamble(text: str) -> str | None:
    """The line in which the author introduces tests instead of giving one, or None."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not lines:
        return None
    if _PREAMBLE.match(lines[0]) or _LABEL.match(lines[0]):
        return lines[0][:80]
    last = lines[-1]
    alone = len(lines) == 1 and _PREAMBLE.search(_last_sentence(last)) is not None
    return last[:80] if alone and last.endswith((":", "：")) else None


def _last_sentence(line: str) -> str:
    return re.split(r"(?<=[.!?。])\s*", line.rstrip(":： "))[-1]


def csv_artifact(text: str, variables: Sequence[str]) -> str | None:
    """What of a CSV file sticks to the text, or None: a header row, a numbered row, or the quotes of a cell."""
    plain = text.strip()
    cells = [folded(cell.strip(' "')) for cell in plain.split(",")]
    column_names = _COLUMNS | {folded(name) for name in variables}
    if len(cells) >= 3 and "\n" not in plain and all(cell in column_names for cell in cells):
        return "it is a header row"
    if re.match(r'^\d+\s*,\s*\d+\s*,\s*"', plain):
        return "it begins like a row of a CSV file"
    if plain.endswith(('",', '";')) and plain.count('"') % 2 == 1:
        return "it ends with the quote and separator of a cell"
    if re.match(r'^",\s*"', plain) or (re.match(r'^"""[^"]', plain) and plain.endswith('"""')):
        return "it begins with the quotes of a cell"
    return None


def json_artifact(text: str, variables: Sequence[str]) -> str | None:
    """The names of the variables that the text wraps itself in as JSON, or None."""
    plain = text.strip()
    if not plain.startswith(("{", "[")):
        return None
    try:
        value = json.loads(plain)
    except (ValueError, RecursionError):
        return None
    while isinstance(value, list) and len(value) == 1:
        value = value[0]
    keys = set(value) if isinstance(value, dict) else set()
    shell = keys & ({"inputs", "cases", "reasoning"} | (set(variables) - {"input"}))
    whole = keys == set(variables) or {"inputs", "reasoning"} <= keys or keys == {"cases"}
    return ", ".join(sorted(shell or keys)) if whole else None


def fenced(text: str) -> bool:
    lines = text.strip().splitlines()
    marks = [number for number, line in enumerate(lines) if line.strip().startswith(("```", "~~~"))]
    return len(lines) > 1 and marks == [0, len(lines) - 1] and lines[-1].strip() in ("```", "~~~")


def is_placeholder(text: str, variables: Sequence[str]) -> bool:
    """Whether the text is nothing but a placeholder, such as ``{{sentence}}`` or ``[your text here]``."""
    plain = text.strip()
    inner = re.fullmatch(r"\{\{\s*(\w+)\s*\}\}|<\s*(\w+)\s*>|\[([^\[\]]{1,60})\]|\{(\w+)\}", plain)
    if inner is None:
        return False
    name = next(part for part in inner.groups() if part is not None)
    parts = words(name)
    return name in variables or (bool(parts) and parts[0] in ("your", "insert") and len(parts) > 1)


ECHO = 88
"""Similarity (0..100, indel distance over both lengths) from which a sentence counts as the rule's own: a rule
with a word or two changed. No case of the benchmarks and no published test of PromptPex reaches it (tests/cases)."""

SHORTEST = 12
"""Characters, after folding, below which a text is too short to be recognisable as a quotation."""

_ANSWER = (
    "answer", "expected answer", "expected output", "correct answer", "expected", "solution", "correct label",
    "antwort", "erwartete ausgabe", "lösung", "réponse", "réponse attendue", "sortie attendue", "respuesta",
    "respuesta correcta", "salida esperada", "resposta", "saída esperada", "risposta", "output atteso", "antwoord",
    "svar", "vastaus", "odpowiedź", "odpověď", "cevap", "jawaban", "đáp án", "câu trả lời", "kết quả mong đợi",
    "ответ", "правильный ответ", "відповідь", "απάντηση", "答案", "正确答案", "答え", "解答", "正解", "정답", "답",
    "الجواب", "الإجابة", "תשובה", "उत्तर", "คำตอบ",
)  # fmt: skip
_MARK = re.compile(r"^\W*(?P<label>[^\n:：=]{1,30}?)\s*(?:[:：=]|->|=>|→)\s*(?P<rest>.+)$")


def echoes_rule(text: str, rules: Sequence[Rule]) -> str | None:
    """The id of the rule or inverse that the text, as a whole, merely repeats."""
    from rapidfuzz import fuzz

    plain = folded(text)
    for name, rule_text in _texts(rules):
        if min(len(plain), len(rule_text)) >= SHORTEST and fuzz.ratio(plain, rule_text) >= ECHO:
            return name
    return None


def states_rule(text: str, rules: Sequence[Rule]) -> str | None:
    """The id of the rule or inverse that a sentence of the text quotes, or speaks of in the rules' own manner."""
    from rapidfuzz import fuzz

    subject = common_subject(rules)
    texts = _texts(rules)
    for sentence in sentences(text):
        plain = folded(sentence)
        for name, rule_text in texts:
            if min(len(plain), len(rule_text)) < SHORTEST:
                continue
            if fuzz.ratio(plain, rule_text) >= ECHO or (len(rule_text) >= 30 and rule_text in plain):
                return name
            if subject and _has(plain, subject) and _overlap(rule_text, plain, subject) >= 0.5:
                return name
    return None


def hints_at_rule(text: str, aimed_at: str, rules: Sequence[Rule]) -> bool:
    """Whether a sentence of the text seems to speak of outputs in the words of the rule or inverse ``aimed_at``.

    It has half of its longer words, compared by their beginnings; or a quarter of them, together with a word for the
    output that rules begin with. Less than certain: people do write about what a rule is about.
    """
    begun = Counter(word for _, rule_text in _texts(rules) for word in set(rule_text.split()[:2]) if len(word) > 3)
    heads = {word for word, count in begun.items() if count >= 2}
    own = _stems(_folded_once(aimed_at)) - _stems(" ".join(heads))
    if len(own) < 4:
        return False
    for sentence in sentences(text):
        plain = folded(sentence)
        shared = len(own & _stems(plain))
        if shared >= 3 and shared * 2 >= len(own):
            return True
        if heads & set(plain.split()) and shared >= 2 and shared * 4 >= len(own):
            return True
    return False


def _stems(text: str) -> set[str]:
    return {word[:5] for word in text.split() if len(word) > 3}


def common_subject(rules: Sequence[Rule]) -> str:
    """The words, two at most, that more than half of the rules begin with; empty if there are none.

    Rules that need the input do not count: they begin with a condition, which inputs do speak of.
    """
    begun = [_folded_once(rule.rule).split()[:2] for rule in rules if rule.rule and rule.needs == "output"]
    if len(begun) < 3:
        return ""
    first, count = Counter(" ".join(beginning) for beginning in begun).most_common(1)[0]
    return first if count * 2 > len(begun) and len(first) >= 4 else ""


def leaks_answer(text: str, expected: str, prompt_text: str) -> str | None:
    """How the text gives ``expected`` away, or None.

    That the expected output occurs proves nothing: it does so in every task of extraction or copying. It has to be
    announced: behind a word for "answer" at the end of a line, or, where it is a label that the prompt lists, as the
    only thing behind a mark in the last line of a longer text.
    """
    expected_words = folded(expected)
    lines = [line for line in text.splitlines() if line.strip()]
    if not expected_words or not lines:
        return None
    for line in lines:
        match = _MARK.match(line.strip())
        if match and folded(match["label"]) in _ANSWER and folded(match["rest"]) == expected_words:
            return "it names the expected output as the answer"
    if len(expected_words) <= 40 and len(lines) > 1 and _listed(expected, prompt_text):
        match = re.match(r"^\W*(?:->|=>|→)\s*(.+)$", lines[-1].strip())
        if match and folded(match[1]) == expected_words:
            return "its last line is the expected output behind an arrow"
    return None


def _listed(label: str, prompt_text: str) -> bool:
    return f" {folded(label)} " in f" {_folded_once(prompt_text)} "


def _texts(rules: Sequence[Rule]) -> list[tuple[str, str]]:
    texts = [(rule.id, _folded_once(rule.rule)) for rule in rules]
    return texts + [(rule.inverse_id, _folded_once(rule.inverse)) for rule in rules if rule.inverse]


@lru_cache(maxsize=2048)
def _folded_once(text: str) -> str:
    """As ``folded``, for what all cases of a suite are held against: rules, inverses and the prompt."""
    return folded(text)


def _has(text: str, part: str) -> bool:
    return f" {part} " in f" {text} "


def _overlap(rule_text: str, sentence: str, subject: str) -> float:
    """The share of the rule's own longer words, its subject aside, that the sentence has; 0 if it has under four."""
    own = {word for word in rule_text.split() if len(word) > 3} - set(subject.split())
    return len(own & set(sentence.split())) / len(own) if len(own) >= 4 else 0.0


Code = Literal[
    "empty", "missing-variable", "unknown-variable", "echoes-rule", "states-rule", "leaks-answer", "preamble",
    "csv-artifact", "json-artifact", "code-fence", "placeholder", "gibberish", "wrong-script", "wrong-language",
    "wrong-type",
]  # fmt: skip

FEW_LETTERS = 20
"""Letters below which a text says nothing about its script."""


@dataclass(frozen=True, slots=True)
class LintFinding:
    """One thing that is wrong with a case.

    Attributes:
        severity: ``error``: not usable; ``warning``: worth a look.
    """

    code: Code
    message: str
    severity: Literal["error", "warning"] = "error"

    def __str__(self) -> str:
        return f"{self.code}: {self.message}"


def lint(case: Case, *, prompt: Prompt, spec: Spec, suite_language: str | None = None) -> list[LintFinding]:
    """What is wrong with a case, by code alone; empty when nothing is.

    Args:
        spec: whose rules it must not state, and whose types its values must have.
        suite_language: BCP 47 tag of the language that inputs have to be in, where one is set. Without it, a
            script that is not the prompt's is only a warning, and none where the case's rule or the input spec speaks
            of languages.
    """
    findings = [*_variables(case, prompt)]
    if any(finding.code == "empty" for finding in findings):
        return findings
    rules = [rule for rule in spec.rules if not rule.stale]
    for name, value in case.inputs.items():
        findings += _typed(name, value, spec)
        if _is_free_text(name, value, spec):
            findings += _text(name, value, case, rules, prompt)
            if suite_language is not None or not _other_languages_meant(name, case, spec):
                findings += _language(name, value, prompt, suite_language)
    findings += _reasoning(case, prompt)
    return findings


def lint_all(
    suite: Suite, *, prompt: Prompt, spec: Spec, suite_language: str | None = None
) -> dict[str, list[LintFinding]]:
    each = ((case.id, lint(case, prompt=prompt, spec=spec, suite_language=suite_language)) for case in suite.cases)
    return {name: findings for name, findings in each if findings}


def errors(findings: Sequence[LintFinding]) -> list[LintFinding]:
    return [finding for finding in findings if finding.severity == "error"]


def _variables(case: Case, prompt: Prompt) -> Iterator[LintFinding]:
    for name in prompt.variables:
        if name not in case.inputs:
            yield LintFinding("missing-variable", f"there is no value for {name}")
    for name in case.inputs:
        if name not in (*prompt.variables, *prompt.checks_only):
            yield LintFinding("unknown-variable", f"the prompt has no variable {name}", "warning")
    texts = [value_text(value).strip() for name, value in case.inputs.items() if name in prompt.variables]
    if texts and not any(texts):
        yield LintFinding("empty", "all values are empty")


def _typed(name: str, value: Any, spec: Spec) -> Iterator[LintFinding]:
    variable = spec.inputs.get(name)
    for problem in type_problems(name, value, variable) if variable is not None else ():
        yield LintFinding("wrong-type", problem)


def _is_free_text(name: str, value: Any, spec: Spec) -> bool:
    variable = spec.inputs.get(name)
    free = variable is None or (variable.type == "text" and variable.values is None)
    return free and isinstance(value, str) and bool(value.strip())


def _text(name: str, text: str, case: Case, rules: Sequence[Rule], prompt: Prompt) -> Iterator[LintFinding]:
    variables = prompt.variables
    echoed, stated = echoes_rule(text, rules), states_rule(text, rules)
    if echoed:
        yield LintFinding("echoes-rule", f"{name} repeats {echoed} instead of being input for it")
    elif stated:
        yield LintFinding("states-rule", f"{name} has a sentence of {stated}, which tells the model what is tested")
    elif _aimed_at(case, rules) and hints_at_rule(text, _aimed_at(case, rules), rules):
        yield LintFinding("states-rule", f"{name} seems to describe the output in the words of its target", "warning")
    leak = leaks_answer(text, case.expected, prompt.text()) if case.expected else None
    if leak:
        yield LintFinding("leaks-answer", f"{name} gives the answer away: {leak}")
    line = preamble(text)
    if line:
        yield LintFinding("preamble", f"{name} has a line of the author's own: {line!r}")
    cell = csv_artifact(text, variables)
    if cell:
        yield LintFinding("csv-artifact", f"{name} is not clean: {cell}")
    shell = json_artifact(text, variables)
    if shell:
        yield LintFinding("json-artifact", f"{name} is wrapped in JSON with {shell}")
    if fenced(text):
        yield LintFinding("code-fence", f"{name} is in a code fence", "warning")
    if is_placeholder(text, variables):
        yield LintFinding("placeholder", f"{name} is a placeholder, not filled in")
    degenerate = degenerate_text.is_degenerate(text)
    if degenerate:
        yield LintFinding("gibberish", f"{name} is gibberish: {degenerate}")


def _aimed_at(case: Case, rules: Sequence[Rule]) -> str:
    rule = next((rule for rule in rules if rule.id == case.rule), None)
    return ((rule.inverse or "") if case.inverse else rule.rule) if rule is not None else ""


def _other_languages_meant(name: str, case: Case, spec: Spec) -> bool:
    """Whether the rule that a case is for, or the input spec, speaks of languages: the case may be in another one."""
    rule = spec.rule(case.rule) if case.rule is not None else None
    sentences = [rule.rule, rule.inverse or ""] if rule is not None else []
    for variable in (spec.inputs.get(name), spec.inputs.get(WHOLE_INPUT)):
        sentences += variable.constraints if variable is not None else ()
    return any(map(speaks_of_languages, sentences))


def _language(name: str, text: str, prompt: Prompt, suite_language: str | None) -> Iterator[LintFinding]:
    counts = scripts_of(text)
    if counts.total() < FEW_LETTERS:
        return
    if suite_language is None:
        own = scripts_of(prompt.text())
        used = frozenset(script for script, count in own.items() if count * 20 >= own.total())
        if used and (share_in(text, used) or 0.0) < 0.1:
            script = counts.most_common(1)[0][0]
            yield LintFinding("wrong-script", f"{name} is in {script} letters, which the prompt is not", "warning")
        return
    if (share_in(text, of_language(suite_language)) or 0.0) < 0.1:
        script = counts.most_common(1)[0][0]
        yield LintFinding("wrong-script", f"{name} is in {script} letters, not in the script of {suite_language}")
    elif wants_marks(suite_language) and counts.total() >= 60 and folded(text).isascii():
        yield LintFinding(
            "wrong-language", f"{name} has none of the letters beyond ASCII that {suite_language} has", "warning"
        )


def _reasoning(case: Case, prompt: Prompt) -> Iterator[LintFinding]:
    """The author's reason is not an input; when it is gibberish, the author had derailed by then."""
    if case.origin == "added" or not case.reasoning:
        return
    degenerate = degenerate_text.is_degenerate(case.reasoning)
    degenerate = degenerate or degenerate_text.lacks_function_words(case.reasoning, prompt.text())
    if degenerate:
        yield LintFinding("gibberish", f"the reasoning is gibberish: {degenerate}; look at the inputs", "warning")
