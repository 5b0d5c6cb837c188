"""Leakage: inputs that echo a rule, tell the model which rule to break, or give the answer away; in any language.

What a rule sounds like is taken from the spec itself: the words of the rule, and the subject that most rules of the
spec begin with ("The output", "Kết quả"). No list of telling words has to know the language.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

from promptpex.cases.comparable_words import folded, sentences
from promptpex.core.records import Rule

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
