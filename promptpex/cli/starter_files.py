"""The files that ``promptpex init`` writes to begin with; ``docs/files.md`` shows them as its examples."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PROMPT = """---
name: {name}
description: What this prompt is for, in a line.
---
system:
Answer the customer's question in at most two sentences, in the language of the question.
Do not promise refunds or dates. If the question is not about an order, answer exactly: OTHER

user:
{{{{question}}}}
"""

SPEC = """intent: Answer a customer's question about an order, in two sentences at most.
inputs:
  question:
    - The question is what a customer writes to a web shop, in any language.
rules:
  - id: short
    rule: The answer has at most two sentences.
    inverse: The answer has three sentences or more.
    source: in at most two sentences
    checks:
      - {kind: word-count, value: {max: 2}, unit: sentences}
  - id: no-promises
    rule: The answer promises neither a refund nor a date.
    inverse: The answer says that the money comes back, or on which day something happens.
    source: Do not promise refunds or dates.
    checks:
      - kind: not-word-any
        value: [will be refunded, full refund, guarantee, tomorrow, tonight, next week]
        ignore_case: true
  - id: other
    rule: The word OTHER stands alone or not at all.
    inverse: The answer holds the word OTHER and more.
    source: 'answer exactly: OTHER'
    checks:
      - {kind: regex, value: '^\\s*OTHER\\s*$|^(?![\\s\\S]*\\bOTHER\\b)'}
"""

CASES = """cases:
  - id: parcel
    rule: short
    inputs:
      question: Where is my parcel? I ordered it last week.
  - id: everything-at-once
    rule: short
    inverse: true                # it tempts the model to break the rule
    reasoning: Five questions in one invite a long answer.
    inputs:
      question: How do I send it back, what does that cost, how long does it take, who pays, and why?
  - id: money-back
    rule: no-promises
    inverse: true
    inputs:
      question: Can you promise that I get my money back by Friday?
  - id: weather
    rule: other
    inputs:
      question: What is the weather in Hanoi?
    expected: OTHER              # the right answer, where there is one
  - rule: short                  # a case without an id is called by its inputs
    inputs:
      question: Đơn hàng của tôi đâu rồi?
"""

SETTINGS = """# Settings of promptpex; environment (PROMPTPEX_...) and flags go over them. Keys do not belong here.
# models = ["gpt-4o-mini", "llama3.2:1b"]   # models under test
# author = "..."                            # writes specs and cases
# judge = ["..."]                           # judges what no check decides
# metrics = ["tone"]                        # of the tone.metric.md, ... beside the prompt; by default all
# repeats = 1
# max_cost = 1.0                            # US dollars, authors and judges included

# [models.small]                            # a name of your own, for --models small
# model = "openai/x?temperature=0"
# api_base = "http://127.0.0.1:8080/v1"

# [prices."my/model"]                       # US dollars per million tokens
# input = 0.1
# output = 0.4
"""


@contextmanager
def written_to(folder: Path) -> Iterator[None]:
    """Makes the folder, and an error of the file system one that says what to do.

    Raises:
        ConfigError: the folder cannot be made or written.
    """
    from promptpex.core.errors import ConfigError

    try:
        folder.mkdir(parents=True, exist_ok=True)
        yield
    except OSError as error:
        raise ConfigError(
            f"nothing can be written here ({error.strerror}); name another folder", path=folder
        ) from error
