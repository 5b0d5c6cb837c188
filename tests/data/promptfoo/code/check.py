# mypy: ignore-errors
import re


def vowels(output, context):
    return len(re.findall("[aeiou]", output)) >= context["config"]["least"]


def get_assert(output, context):
    return {"pass": context["vars"]["topic"] != output, "score": 1.0, "reason": "not the topic"}
