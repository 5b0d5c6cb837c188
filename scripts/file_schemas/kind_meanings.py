"""What editors say of each kind of check while one is being chosen; ``docs/assertions.md`` says more."""

from __future__ import annotations

from collections.abc import Sequence

MEANINGS = {
    "contains": "The output holds the text.",
    "icontains": "The output holds the text, in any case.",
    "contains-all": "The output holds all texts of a list.",
    "contains-any": "The output holds one text of a list.",
    "icontains-all": "The output holds all texts of a list, in any case.",
    "icontains-any": "The output holds one text of a list, in any case.",
    "equals": "The output is the text or, for a list or a mapping, the same JSON value.",
    "starts-with": "The output starts with the text.",
    "ends-with": "The output ends with the text.",
    "levenshtein": "The edit distance to the text is at most the threshold (5).",
    "word-any": "The output holds one of the words, as a whole word in any script.",
    "word-all": "The output holds all of the words, as whole words in any script.",
    "regex": "The pattern is found in the output.",
    "word-count": "The output has that many words, or the unit that is named: a number, or min and max.",
    "is-json": "The output is JSON and nothing else, and follows the schema, if there is one.",
    "contains-json": "The output holds JSON that follows the schema, if there is one.",
    "is-xml": "The output is XML with the elements that are named.",
    "contains-xml": "The output holds XML with the elements that are named.",
    "is-html": "The output is HTML.",
    "contains-html": "The output holds HTML.",
    "is-sql": "The output is SQL, of the tables and columns that are allowed.",
    "contains-sql": "The output holds SQL, of the tables and columns that are allowed.",
    "cost": "The answer cost at most threshold, in US dollars.",
    "latency": "The answer took at most threshold, in milliseconds.",
    "perplexity": "The perplexity of the output is at most the threshold.",
    "perplexity-score": "1 / (1 + perplexity) is at least the threshold.",
    "finish-reason": "The provider gave this reason for the end of the answer.",
    "bleu": "The output shares enough with a reference text, by BLEU.",
    "gleu": "The output shares enough with a reference text, by GLEU.",
    "rouge-n": "The output shares enough runs of n words with a reference text.",
    "rouge-l": "The output shares a long enough sequence of words with a reference text.",
    "is-refusal": "The output declines to answer, or is empty.",
    "language": "The output is written in the language, such as en, or in one of a list.",
    "javascript": "The script over output and context gives true, a number above 0, or pass, score and reason.",
    "python": "The code over output and context gives true, a number above 0, or pass, score and reason.",
    "question": "A judge answers the yes-or-no question with yes.",
    "llm-rubric": "A judge says that the output is as the value describes; read as a question.",
    "expected": "The output is the expected one of its case.",
    "assert-set": "The checks under assert pass, all or as many as the threshold says.",
}


def meanings(kinds: Sequence[str]) -> list[str]:
    """A sentence for each of these kinds, in their order."""
    return [_meaning(kind) for kind in kinds]


def _meaning(kind: str) -> str:
    if not kind.startswith("not-"):
        return MEANINGS[kind]
    sentence = MEANINGS[kind.removeprefix("not-")]
    return f"Turned round: fails where this holds. {sentence}"
