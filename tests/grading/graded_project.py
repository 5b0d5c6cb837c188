"""A prompt with a run, in a folder, that tests of grading share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

from promptpex.core.records import Case, Example, Manifest, Output, Rule, Run, Spec, Suite, Verdict, output_key
from promptpex.promptfile import read
from promptpex.report import runs

PROMPT = "Name the colour of {{thing}} in one word.\n"
RULES = (
    Rule(id="r1", rule="The output is one word.", origin="added"),
    Rule(id="r2", rule="The output is the colour of the thing.", needs="input", origin="added"),
)
SPEC = """\
prompt: colours.md
rules:
  - id: r1
    rule: The output is one word.
    origin: added
  - id: r2
    rule: The output is the colour of the thing.
    needs: input
    origin: added
"""
TEXTS = {"sky": "blue", "grass": "green", "sea": "blue", "night": "It is black."}


def item(thing: str, text: str) -> Example:
    """An item of the project's run."""
    inputs = {"thing": thing}
    return Example(id=output_key(inputs, text), inputs=inputs, output=text, case=thing, model="m")


def items(texts: Mapping[str, str] = TEXTS) -> list[Example]:
    """The items of the project's run."""
    return [item(thing, text) for thing, text in texts.items()]


def project(folder: Path, texts: Mapping[str, str] = TEXTS, *, run: str = "one") -> Path:
    """A prompt with its spec and a run of it; gives the run's folder."""
    file = folder / "colours.md"
    if not file.exists():
        file.write_text(PROMPT, encoding="utf-8")
        (folder / "colours.spec.yaml").write_text(SPEC, encoding="utf-8")
    prompt = read(file).replace(path="colours.md")
    made = Run(
        manifest=Manifest(
            run=run,
            prompt=prompt.name,
            prompt_fingerprint=prompt.fingerprint,
            spec_digest="",
            suite_digest="",
            models=("m",),
            mode_rules={"prompt": "The output does what the prompt asks."},
        ),
        prompt=prompt,
        spec=Spec(prompt="colours.md", rules=RULES),
        suite=Suite(
            prompt="colours.md",
            cases=tuple(Case(id=thing, inputs={"thing": thing}, origin="added") for thing in texts),
        ),
        outputs=tuple(Output(case=thing, model="m", text=text) for thing, text in texts.items()),
        verdicts=tuple(_verdicts(texts)),
    )
    place = runs.folder_for(folder / "results", prompt.name, run)
    runs.finish(place, made)
    return place


def _verdicts(texts: Mapping[str, str]) -> list[Verdict]:
    verdicts = []
    for thing, text in texts.items():
        key, passes = (thing, "m", 0), " " not in text
        verdicts += [
            Verdict.of(key, "r1", "pass" if passes else "fail", "check:word-count", reason="counted"),
            Verdict.of(key, "r2", "unscored", "judge:j", unscored="judge-unclear"),
            Verdict.of(key, "r2", "pass", "judge:j", turn=1),
            Verdict.of(key, "prompt", "pass", "judge:j"),
        ]
    return verdicts


def ticking(start: datetime = datetime(2026, 3, 1, 9, tzinfo=UTC)) -> Callable[[], datetime]:
    """A clock that goes on by a second whenever it is read."""
    now = start

    def clock() -> datetime:
        nonlocal now
        now += timedelta(seconds=1)
        return now

    return clock
