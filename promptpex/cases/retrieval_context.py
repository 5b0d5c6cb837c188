"""Contexts: which variable of a prompt is the material that another one asks about, and which cases hold the answer.

Prompts that answer from a retrieved document are at their weakest where the document does not say it. So half of their
cases get a context with the answer in it and half one without, and each case says which.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from promptpex.cases.comparable_words import words
from promptpex.core.ids import text_digest
from promptpex.core.records import Case, Prompt, Spec

_CONTEXTS = frozenset(
    words(
        "context contexts document documents doc docs passage passages excerpt excerpts source sources article "
        "articles background knowledge evidence facts chunk chunks snippet snippets retrieved reference references "
        "transcript kontext dokument dokumente quelle quellen contexte contexto contesto documento documentos "
        "documenti extrait extraits kontekst dokumen konteks bağlam belge контекст документ документы 文脈 "
        "文書 資料 上下文 文档 문맥 문서 السياق سياق संदर्भ"
    )
)
_CONTEXT_PAIRS = ("ngu canh", "ngữ cảnh", "tai lieu", "tài liệu", "van ban", "văn bản")
_QUESTIONS = frozenset(
    words(
        "question questions query queries asked claim frage pregunta consulta pergunta domanda vraag fråga spørgsmål "
        "spørsmål kysymys pytanie otázka soru pertanyaan вопрос питання ερώτηση 質問 问题 问句 질문 سؤال प्रश्न"
    )
)
_QUESTION_PAIRS = ("cau hoi", "câu hỏi")


def context_variable(prompt: Prompt, spec: Spec) -> str | None:
    """The variable that is a context for another, or None.

    Front matter decides where it speaks: ``context: NAME`` (``context: none`` for none), or ``context: true`` or
    ``type: context`` or ``type: document`` under an input. Otherwise a text variable named like a document, if
    another is named like a question; a prompt that translates a ``document`` into a ``language`` has no context.
    """
    declared = _declared(prompt)
    if declared is not None:
        return declared if declared in prompt.variables and len(prompt.variables) > 1 else None
    texts = [name for name in prompt.variables if name not in spec.inputs or spec.inputs[name].type == "text"]
    if not any(_is_named(name, _QUESTIONS, _QUESTION_PAIRS) for name in texts):
        return None
    named = [name for name in texts if _is_named(name, _CONTEXTS, _CONTEXT_PAIRS)]
    named = [name for name in named if not _is_named(name, _QUESTIONS, _QUESTION_PAIRS)]
    return named[0] if named else None


def _declared(prompt: Prompt) -> str | None:
    """What the front matter says: a variable's name, empty for none, None where it says nothing."""
    top = prompt.meta.get("context", prompt.unknown.get("context"))
    if isinstance(top, str):
        return top.strip()
    if top is False:
        return ""
    inputs = prompt.meta.get("inputs")
    for name, item in inputs.items() if isinstance(inputs, Mapping) else ():
        if isinstance(item, Mapping) and (item.get("context") is True or item.get("type") in ("context", "document")):
            return str(name)
    return None


def _is_named(name: str, single: frozenset[str], pairs: Sequence[str]) -> bool:
    parts = words(_parted(name))
    return bool(single & set(parts)) or any(pair in " ".join(parts) for pair in pairs)


def _parted(name: str) -> str:
    """``retrievedDocs_1`` as ``retrieved Docs 1``."""
    spaced = "".join(
        f" {char}" if char.isupper() and before.islower() else char
        for before, char in zip(" " + name, name, strict=False)
    )
    return spaced.replace("_", " ").replace("-", " ")


def balance_answerable(kept: Iterable[Case], wanted: Sequence[tuple[str, int]]) -> list[int]:
    """For each request for so many cases, how many of them are to have the answer in their context.

    Over the suite the halves differ by one case at most, what is kept included. Where a single case is even, the hash
    of what it aims at decides, so that not all rules get one kind and all inverses the other.

    Args:
        kept: the cases that are there.
        wanted: the stem of the target and the number of cases, for each request in order.
    """
    records = [case.answer_in_context for case in kept if case.invalid is None]
    lead = records.count(True) - records.count(False)
    shares = []
    for stem, count in wanted:
        odd_goes_to_answerable = int(text_digest(stem, 2), 16) % 2 == 0
        with_answer = 0
        for _ in range(count):
            answerable = lead < 0 or (lead == 0 and odd_goes_to_answerable)
            lead += 1 if answerable else -1
            with_answer += answerable
        shares.append(with_answer)
    return shares
