"""PromptPex's own evaluation (arXiv 2503.05070v1, §4) of one prompt with its spec and its suite.

Generated against baseline cases, rules against inverse rules, validity of the cases, groundedness of the rules, and
spec agreement: intent and rules, sent as a prompt, against the prompt itself on the baseline's valid cases.
"""

from __future__ import annotations

import math
import random
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from promptpex.cases.validity import Validity, ValidityCheck, validity
from promptpex.core.ids import digest
from promptpex.core.records import Case, Message, Prompt, Run, Spec, Suite
from promptpex.specs.groundedness import Groundedness, grounded
from promptpex.workflow.execution.run_records import begin, execute
from promptpex.workflow.session import Session

_WORD = re.compile(r"\w+", re.UNICODE)


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The evaluation of one prompt.

    Attributes:
        run: generated and baseline cases (those without a rule) on all models, judged.
        by_spec: the baseline's valid cases on the spec as a prompt, judged; None when there were none.
        validity: of every case, generated and baseline.
        groundedness: of every rule.
        cosines: per model, how alike the outputs of prompt and spec are, case by case.
    """

    run: Run
    by_spec: Run | None
    validity: tuple[Validity, ...]
    groundedness: tuple[Groundedness, ...]
    cosines: dict[str, tuple[float, ...]] = field(default_factory=dict)


async def evaluate_prompt(
    session: Session, prompt: Prompt, spec: Spec, suite: Suite, baseline: Suite, *, sample: int | None = None
) -> Evaluation:
    """The evaluation of one prompt; every reply is kept in the store as in any run.

    Args:
        session: names models, author (who judges validity, unless code alone is to, and groundedness) and judges.
        suite: the generated cases.
        baseline: cases made from the prompt alone.
        sample: at most so many cases of each suite, drawn by the seed, rules and inverses equally; None = all.
    """
    cases = (*sampled(suite.usable(), sample, session.settings.seed), *_without_rule(baseline.usable(), sample))
    author = session.roles.author()
    both = suite.replace(cases=cases)
    begun = await begin(session, prompt, spec, both, author=author.label)
    run = await execute(session, begun)
    judge = author if _judged(session) else None
    valid = await validity(cases, ValidityCheck(prompt, spec, judge, emit=session.emit))
    rules = [rule for rule in spec.rules if not rule.stale]
    groundedness = await grounded(author, prompt, rules, emit=session.emit)
    fit = ("valid",) if _judged(session) else ("valid", "unknown")
    good = {one.case for one in valid if one.status in fit}
    chosen = tuple(case for case in cases if case.rule is None and case.id in good)
    by_spec = await _by_spec(session, prompt, spec, chosen)
    return Evaluation(run, by_spec, tuple(valid), tuple(groundedness), cosines(run, by_spec))


def _judged(session: Session) -> bool:
    """Whether the author judges validity; ``--no-validity`` leaves it to code."""
    return session.settings.validity or session.resolved.origins.get("validity") == "default"


def spec_as_prompt(prompt: Prompt, spec: Spec) -> Prompt:
    """A prompt that says what the spec says: the intent and the rules as a system message, then the inputs."""
    rules = "\n".join(f"- {rule.rule}" for rule in spec.rules if not rule.stale)
    instructions = literal(f"{spec.intent}\n\nThe answer keeps these rules:\n{rules}")
    inputs = "\n\n".join(f"{{{{ {name} }}}}" if len(prompt.variables) == 1 else f"{name}:\n{{{{ {name} }}}}"
                         for name in prompt.variables)  # fmt: skip
    messages = (Message(role="system", content=instructions), Message(role="user", content=inputs))
    mark = digest([message.model_dump() for message in messages], 16)
    return Prompt(name=f"{prompt.name}-spec", messages=messages, variables=prompt.variables, fingerprint=mark)


def literal(text: str) -> str:
    """Text that Jinja renders as it is."""
    for opening in ("{{", "{%", "{#"):
        text = text.replace(opening, "{{ '" + opening[0] + "' }}" + opening[1])
    return text


def sampled(cases: Sequence[Case], most: int | None, seed: int) -> list[Case]:
    """At most ``most`` cases, in their order: equally many of each rule and inverse, drawn by the seed."""
    if most is None or len(cases) <= most:
        return list(cases)
    targets: dict[tuple[str | None, bool], list[Case]] = defaultdict(list)
    for case in cases:
        targets[case.rule, case.inverse].append(case)
    rng = random.Random(seed)
    piles = [rng.sample(pile, len(pile)) for pile in targets.values()]
    rng.shuffle(piles)
    chosen: set[str] = set()
    while len(chosen) < most:
        for pile in piles:
            if pile and len(chosen) < most:
                chosen.add(pile.pop().id)
    return [case for case in cases if case.id in chosen]


def _without_rule(cases: Sequence[Case], most: int | None) -> list[Case]:
    return [case.replace(id=f"baseline-{case.id}", rule=None, inverse=False) for case in cases[:most]]


async def _by_spec(session: Session, prompt: Prompt, spec: Spec, cases: tuple[Case, ...]) -> Run | None:
    if not cases:
        return None
    as_prompt = spec_as_prompt(prompt, spec)
    return await execute(session, await begin(session, as_prompt, spec, Suite(prompt=spec.prompt, cases=cases)))


def cosines(run: Run, by_spec: Run | None) -> dict[str, tuple[float, ...]]:
    """Per model, the similarity of the answers of prompt and spec, from 0 to 1, for each output that both have."""
    if by_spec is None:
        return {}
    texts = {output.key: output.text for output in by_spec.outputs if output.error is None}
    by_model: dict[str, list[float]] = {model: [] for model in run.manifest.models}
    for output in run.outputs:
        other = texts.get(output.key)
        if output.error is None and other is not None:
            by_model[output.model].append(word_cosine(output.text or "", other))
    return {model: tuple(values) for model, values in by_model.items()}


def word_cosine(first: str, second: str) -> float:
    """Cosine of the two texts' word counts, case folded, from 0 to 1; 1 for two texts without any word.

    Texts in scripts that do not separate words are counted by character.
    """
    a, b = _counts(first), _counts(second)
    if not a or not b:
        return 1.0 if a == b else 0.0
    dot = sum(count * b[word] for word, count in a.items())
    return dot / math.sqrt(sum(n * n for n in a.values()) * sum(n * n for n in b.values()))


def _counts(text: str) -> Counter[str]:
    words = _WORD.findall(text.casefold())
    unspaced = [letter for word in words for letter in word] if _unspaced(words) else words
    return Counter(unspaced)


def _unspaced(words: Sequence[str]) -> bool:
    """Whether the words look like whole sentences, as in Chinese, Japanese or Thai."""
    foreign = [word for word in words if any(ord(letter) > 0x0E00 for letter in word)]
    return bool(foreign) and sum(map(len, foreign)) / len(foreign) > 6
