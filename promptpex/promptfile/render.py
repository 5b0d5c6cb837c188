"""Rendering a prompt with inputs: sandboxed, strict about missing values, and values are never rendered again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

from jinja2 import Template, TemplateError, TemplateSyntaxError, UndefinedError, meta, nodes

from promptpex.core.errors import InputError, PromptFileError
from promptpex.core.records import INPUT_VARIABLE, Message, Prompt
from promptpex.core.time_allowance import Allowance
from promptpex.promptfile.sandbox import PromptEnvironment, TemplateTooLarge, run_template

_ENVIRONMENT = PromptEnvironment()


RENDERING_SECONDS = 30.0
"""What rendering all cases of a prompt may take in one command, before what each of them adds."""


def render(prompt: Prompt, inputs: Mapping[str, object], time: Allowance | None = None) -> tuple[Message, ...]:
    """The messages that a model is sent for these inputs.

    Texts go in as they are; everything else as JSON, so that ``true`` is ``true``; loops over lists work. Inputs that
    the front matter gives a ``default`` may be missing. A prompt that names no variable gets its input as a last
    user message.

    Args:
        time: of all renderings of a command together, ``Allowance(RENDERING_SECONDS)`` at its start.
    """
    if time is None:
        return _messages(prompt, inputs)
    if time.used_up:
        raise _fail(prompt, f"rendering it has taken more than {time.seconds:.0f} s in all; make its template simpler")
    with time.piece():
        return _messages(prompt, inputs)


def sent_text(prompt: Prompt, inputs: Mapping[str, object], time: Allowance | None = None) -> str:
    """What a model is sent for these inputs, as one text; empty where the prompt cannot be rendered."""
    try:
        return messages_text(render(prompt, inputs, time))
    except InputError:
        return ""


def renderer(prompt: Prompt) -> Callable[[Mapping[str, object]], tuple[Message, ...]]:
    """A function that renders the prompt with inputs, all in ``RENDERING_SECONDS``; nothing where that is not
    possible."""
    time = Allowance(RENDERING_SECONDS)

    def rendered(inputs: Mapping[str, object]) -> tuple[Message, ...]:
        try:
            return render(prompt, inputs, time)
        except InputError:
            return ()

    return rendered


def messages_text(messages: Sequence[Message]) -> str:
    """Messages as one text, each under a line with its role where there are several."""
    if len(messages) == 1:
        return messages[0].content
    return "\n\n".join(f"{message.role}:\n{message.content}" for message in messages)


def _messages(prompt: Prompt, inputs: Mapping[str, object]) -> tuple[Message, ...]:
    values = {**_defaults(prompt), **inputs}
    if prompt.implicit_input:
        return (*_turns(prompt, values), _implicit(prompt, values))
    return _turns(prompt, values)


def _turns(prompt: Prompt, values: Mapping[str, object]) -> tuple[Message, ...]:
    return tuple(
        Message(role=turn.role, content=_render_text(prompt, turn.content, values)) for turn in prompt.messages
    )


def required(prompt: Prompt) -> tuple[str, ...]:
    """The variables that a case must give: all but those that the front matter has a default for."""
    defaults = _defaults(prompt)
    return tuple(name for name in prompt.variables if name not in defaults)


def named_variables(sources: Iterable[str]) -> tuple[str, ...]:
    """The variables that these templates name, in order of appearance.

    Raises:
        TemplateSyntaxError: with its line, in the first template that is broken.
    """
    names: dict[str, None] = {}
    for source in sources:
        compiled(source)
        tree = _ENVIRONMENT.parse(source)
        free = _undeclared(tree) - set(_ENVIRONMENT.globals)
        names.update((name, None) for name in _in_order(tree) if name in free)
    return tuple(names)


def parsed_template(source: str) -> nodes.Template:
    return _ENVIRONMENT.parse(source)


def _undeclared(tree: nodes.Template) -> set[str]:
    """``meta.find_undeclared_variables`` without working out constants, which takes the cube of a tag's nesting."""
    tracker = meta.TrackingCodeGenerator(_ENVIRONMENT)
    tracker.optimizer = None
    tracker.visit(tree)
    return tracker.undeclared_identifiers


@lru_cache(maxsize=256)
def compiled(source: str) -> Template:
    """The compiled template of this text.

    Raises:
        TemplateSyntaxError: with its line.
    """
    try:
        return _ENVIRONMENT.compiled(source)
    except TemplateSyntaxError:
        raise
    except TemplateTooLarge as over:
        raise TemplateSyntaxError(f"the template cannot be compiled: {over}", 1) from None
    except (TemplateError, RecursionError, ValueError, SyntaxError, OverflowError, MemoryError) as failure:
        raise TemplateSyntaxError(f"the template cannot be compiled: {type(failure).__name__}", 1) from None


def _implicit(prompt: Prompt, values: Mapping[str, object]) -> Message:
    value = values.get(INPUT_VARIABLE)
    if value is None:
        raise _fail(prompt, f"there is no value for {INPUT_VARIABLE!r}; give it in the case's inputs")
    return Message(role="user", content=_render_text(prompt, "{{input}}", {INPUT_VARIABLE: value}))


def _in_order(tree: nodes.Node) -> Iterator[str]:
    for child in tree.iter_child_nodes():
        if isinstance(child, nodes.Name):
            yield child.name
        yield from _in_order(child)


def _defaults(prompt: Prompt) -> dict[str, object]:
    declared = prompt.meta.get("inputs")
    if not isinstance(declared, Mapping):
        return {}
    return {
        name: about["default"] for name, about in declared.items() if isinstance(about, Mapping) and "default" in about
    }


def _render_text(prompt: Prompt, source: str, values: Mapping[str, object]) -> str:
    try:
        return run_template(compiled(source), values)
    except UndefinedError as failure:
        raise _fail(prompt, f"the template needs a value that it is not given: {failure.message}") from None
    except TemplateTooLarge as failure:
        raise _fail(prompt, str(failure)) from None
    except TemplateError as failure:
        raise _fail(prompt, f"the template cannot be rendered: {failure.message or type(failure).__name__}") from None
    except (
        ArithmeticError,
        LookupError,
        TypeError,
        ValueError,
        AttributeError,
        RecursionError,
        MemoryError,
    ) as failure:
        raise _fail(prompt, f"the template fails on these inputs: {failure or type(failure).__name__}") from None


def _fail(prompt: Prompt, message: str) -> PromptFileError:
    return PromptFileError(message, path=prompt.path or prompt.name)
