"""Small prompts, specs and cases that several tests share, and an author and a judge with chosen replies."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from promptpex.core.ids import text_digest
from promptpex.core.records import (
    Case,
    Check,
    Completion,
    Message,
    ModelName,
    Output,
    Prompt,
    Request,
    Rule,
    Spec,
    Suite,
    VariableSpec,
)
from promptpex.llm.fake import FakeClient
from promptpex.llm.model_in_role import RoleModel
from promptpex.llm.structured import Structured

TEXT = "Name the colour of the thing in one word. Answer in capitals."


def prompt(text: str = TEXT, variables: tuple[str, ...] = ("thing", "place")) -> Prompt:
    body = text + "".join(f"\n{{{{{name}}}}}" for name in variables)
    return Prompt(
        name="colours",
        messages=(Message(role="system", content=body),),
        variables=variables,
        fingerprint=text_digest(body),
    )


def spec() -> Spec:
    return Spec(
        prompt="prompt.md",
        intent="Name a colour.",
        inputs={"thing": VariableSpec(constraints=("The thing is an object.",))},
        rules=(
            Rule(
                id="r1",
                rule="The output is one word.",
                inverse="The output has several words.",
                source="in one word",
                checks=(Check(kind="word-count", value=1),),
            ),
            Rule(id="r2", rule="The output is a colour.", inverse="The output is no colour.", source="the colour"),
        ),
    )


def suite() -> Suite:
    cases = [
        Case(id=f"c{n}", rule="r1" if n < 3 else "r2", inverse=n % 2 == 0, inputs={"thing": f"t{n}", "place": "here"})
        for n in range(1, 5)
    ]
    return Suite(prompt="prompt.md", cases=tuple(case.replace(origin="added") for case in cases))


def output(text: str | None = "RED", *, case: str = "c1", model: str = "m", error: str | None = None) -> Output:
    return Output(case=case, model=model, text=text, error=error)


def role_model(reply: Callable[[Request], Any], label: str = "fake/author") -> tuple[RoleModel, FakeClient]:
    """A model in a role whose replies are chosen by a function; what is not text goes through JSON."""

    def answer(request: Request) -> Any:
        chosen = reply(request)
        return chosen if isinstance(chosen, str | Exception | Completion) else json.dumps(chosen)

    client = FakeClient(answer)
    return RoleModel(Structured(client), ModelName(name=label, label=label)), client


def asked(request: Request) -> str:
    """What a request says, all turns together."""
    return "\n".join(message.content for message in request.messages)


def wanted_cases(request: Request) -> list[str]:
    """The aim of each case that an author is asked for, such as ``r1-inverse``, in the order of the request."""
    fenced = re.search(r"<aims-([0-9a-f]+)>\n(.*?)\n</aims-\1>", asked(request), re.DOTALL)
    lines = re.findall(r"^(\S+) \((\d+) input", fenced[2] if fenced else "", re.MULTILINE)
    return [aim for aim, count in lines for _ in range(int(count))]


def written_cases(request: Request, inputs: Callable[[str, int], dict[str, str]]) -> dict[str, Any]:
    """A whole reply to a request for cases: ``inputs`` is given the aim of each and its number in the reply."""
    aims = enumerate(wanted_cases(request))
    return {"cases": [{"aim": aim, "reasoning": " why ", "inputs": inputs(aim, number)} for number, aim in aims]}


def broken(request: Request, is_wrong: Callable[[str], bool], verdict: str = "breaks") -> dict[str, Any]:
    """A reply to a request for validity: of each input that is wrong, that it breaks the first sentence."""
    inputs = re.findall(r"<(i\d+)-([0-9a-f]+)>\n(.*?)\n</\1-\2>", asked(request), re.DOTALL)
    wrong = [name for name, _, text in inputs if is_wrong(text)]
    return {"problems": [{"input": i, "sentence": "c1", "reason": "Look.", "verdict": verdict} for i in wrong]}


def colour_author(request: Request) -> Any:
    """What an author says of a prompt that asks for a colour, up to its one rule and the inverse; else None."""
    replies: dict[str, Any] = {
        "intent": {"intent": "Name a colour."},
        "inputs": {"constraints": ["The thing is an object."]},
        "rules": {"rules": [{"rule": "The output is one word.", "source": "in one word"}]},
        "inverse": {"inverse": "The output has several words."},
    }
    return replies.get(request.stage)


COUNTED = ("manifest.json", "report.html")
"""Files that say how many answers came from the store: in a repetition all."""


def contents(folder: Path) -> dict[str, bytes]:
    """The files of a run's folder but for that."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name not in COUNTED}
