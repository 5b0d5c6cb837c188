"""The other half of the assertions of ``python_samples``.

Some more (``UNSUPPORTED``) use what Monty lacks.
"""

from __future__ import annotations

import itertools
import json
import re
import unicodedata
from typing import Any

from tests.assertions.python_samples import Assertion


async def first_ten_words(example: dict[str, Any], prompt: str, response: str) -> bool:
    """First ten words."""
    return len(" ".join(itertools.islice(response.split(), 10))) < 90


def pairs_of_items(example: dict[str, Any], prompt: str, response: str) -> bool:
    """Pairs of items."""
    return all(a in response or b in response for a, b in itertools.combinations(example["items"], 2))


def chained_fields(example: dict[str, Any], prompt: str, response: str) -> bool:
    """Chained fields."""
    fields = itertools.chain([example["product"]], example["items"])
    return sum(field in response for field in fields) >= 2


def is_ascii(example: dict[str, Any], prompt: str, response: str) -> bool:
    """Is ascii."""
    return response.isascii()


def no_emoji(example: dict[str, Any], prompt: str, response: str) -> bool:
    """No emoji."""
    return not any(unicodedata.category(sign) == "So" for sign in response)


def composed_letters(example: dict[str, Any], prompt: str, response: str) -> bool:
    """Composed letters."""
    return unicodedata.normalize("NFC", response) == response


def without_accents(example: dict[str, Any], prompt: str, response: str) -> bool:
    """Without accents."""
    plain = "".join(sign for sign in unicodedata.normalize("NFD", response) if not unicodedata.combining(sign))
    return "cafe" in plain.lower()


def letters_are_latin(example: dict[str, Any], prompt: str, response: str) -> bool:
    """Letters are latin."""
    return all("LATIN" in unicodedata.name(sign, "") for sign in response if sign.isalpha())


def no_control_signs(example: dict[str, Any], prompt: str, response: str) -> bool:
    """No control signs."""
    return all(unicodedata.category(sign) != "Cc" or sign in "\n\t" for sign in response)


async def mostly_lower_case(example: dict[str, Any], prompt: str, response: str) -> bool:
    """Mostly lower case."""
    return sum(sign.islower() for sign in response) > 0.5 * len(response)


def no_shouting(example: dict[str, Any], prompt: str, response: str) -> bool:
    """No shouting."""
    return not any(word.isupper() and len(word) > 3 for word in response.split())


def title_case(example: dict[str, Any], prompt: str, response: str) -> bool:
    """Title case."""
    first = response.split("\n", 1)[0]
    return first == first.title()


def case_folds(example: dict[str, Any], prompt: str, response: str) -> bool:
    """Case folds."""
    return "STRASSE".casefold() == "straße".casefold() and response.casefold() != ""


def greets(example: dict[str, Any], prompt: str, response: str) -> bool:
    """Greets."""
    return response.strip().lower().startswith(("dear", "hello", "hi ", "good"))


def greets_by_name(example: dict[str, Any], prompt: str, response: str) -> bool:
    """Greets by name."""
    hit = re.match(r"(?:Dear|Hello|Hi)\s+(?P<name>[A-Z]\w+)", response)
    return hit is not None and hit.group("name") == example["name"]


def signs_off(example: dict[str, Any], prompt: str, response: str) -> bool:
    """Signs off."""
    return re.search(r"(?i)(regards|sincerely|thank you)[,.!]?\s*\n?.*$", response) is not None


def says_you(example: dict[str, Any], prompt: str, response: str) -> bool:
    """Says you."""
    return re.search(r"\byou(?:r|rs)?\b", response, re.I) is not None


def does_not_apologise(example: dict[str, Any], prompt: str, response: str) -> bool:
    """Does not apologise."""
    return not re.search(r"\b(sorry|apologi[sz]e|regret)\b", response, flags=re.IGNORECASE)


async def no_banned_word(example: dict[str, Any], prompt: str, response: str) -> bool:
    """No banned word."""
    return not set(re.findall(r"\w+", response.lower())) & {"obviously", "simply", "just"}


def no_placeholder(example: dict[str, Any], prompt: str, response: str) -> bool:
    """No placeholder."""
    return "{{" not in response and "[NAME]" not in response and not re.search(r"<[A-Z_]+>", response)


def repeats_no_input(example: dict[str, Any], prompt: str, response: str) -> bool:
    """Repeats no input."""
    return example["product"] * 2 not in response and prompt not in response


def shorter_than_the_prompt(example: dict[str, Any], prompt: str, response: str) -> bool:
    """Shorter than the prompt."""
    return len(response) < len(prompt) * 10


def quotes_the_prompt(example: dict[str, Any], prompt: str, response: str) -> bool:
    """Quotes the prompt."""
    return any(word in response.lower() for word in prompt.lower().split() if len(word) > 4)


def lines_are_short(example: dict[str, Any], prompt: str, response: str) -> bool:
    """Lines are short."""
    return all(len(line) <= 100 for line in response.splitlines())


def paragraphs(example: dict[str, Any], prompt: str, response: str) -> bool:
    """Paragraphs."""
    return 1 <= len([part for part in response.split("\n\n") if part.strip()]) <= 3


def no_blank_ends(example: dict[str, Any], prompt: str, response: str) -> bool:
    """No blank ends."""
    return response == response.strip() and "  " not in response


def indented_evenly(example: dict[str, Any], prompt: str, response: str) -> bool:
    """Indented evenly."""
    return all((len(line) - len(line.lstrip(" "))) % 2 == 0 for line in response.split("\n"))


async def has_a_table(example: dict[str, Any], prompt: str, response: str) -> bool:
    """Has a table."""
    rows = [line for line in response.splitlines() if line.startswith("|")]
    return len({row.count("|") for row in rows}) == 1


def partition_at_colon(example: dict[str, Any], prompt: str, response: str) -> bool:
    """Partition at colon."""
    head, colon, rest = response.partition(":")
    return colon == ":" and 0 < len(head) < 20 and bool(rest.strip())


def answer_after_colon(example: dict[str, Any], prompt: str, response: str) -> bool:
    """Answer after colon."""
    return response.rsplit(":", 1)[-1].strip().isdigit()


def key_value_lines(example: dict[str, Any], prompt: str, response: str) -> bool:
    """Key value lines."""
    pairs = dict(line.split(": ", 1) for line in response.splitlines() if ": " in line)
    return "Price" in pairs


def joined_again(example: dict[str, Any], prompt: str, response: str) -> bool:
    """Joined again."""
    return ", ".join(response.split(", ")) == response and response.count(",") < 9


def slices(example: dict[str, Any], prompt: str, response: str) -> bool:
    """Slices."""
    return response[::-1][:5] == "".join(reversed(response))[:5] and response[-1:] != ","


def translated_signs(example: dict[str, Any], prompt: str, response: str) -> bool:
    """Translated signs."""
    return response.replace("–", "-").replace("’", "'").encode("utf-8").decode("utf-8").count("-") < 6


def walrus(example: dict[str, Any], prompt: str, response: str) -> bool:
    """Walrus."""
    return (count := response.count("\n")) < 12 and count >= 0


def matches_a_shape(example: dict[str, Any], prompt: str, response: str) -> bool:
    """Matches a shape."""
    match json.loads(response):
        case {"name": str(), "price": int() | float() as price}:
            return price > 0
        case [*items]:
            return len(items) > 0
    return False


async def counts_in_a_loop(example: dict[str, Any], prompt: str, response: str) -> bool:
    """Counts in a loop."""
    count = 0
    for sign in response:
        if sign in "aeiou":
            count += 1
        elif sign == "\n":
            continue
        else:
            pass
    while count > 100:
        count //= 2
    return count > 3


def nested_function(example: dict[str, Any], prompt: str, response: str) -> bool:
    """Nested function."""

    def clean(word: str) -> str:
        return word.strip(".,;:!?").lower()

    return clean(example["product"].split()[0]) in map(clean, response.split())


def closure_over_a_list(example: dict[str, Any], prompt: str, response: str) -> bool:
    """Closure over a list."""
    seen: list[str] = []

    def note(word: str) -> bool:
        seen.append(word)
        return len(seen) < 50

    return all(note(word) for word in response.split())


def star_arguments(example: dict[str, Any], prompt: str, response: str) -> bool:
    """Star arguments."""

    def longest(*words: str, floor: int = 0) -> int:
        return max([floor, *(len(word) for word in words)])

    return longest(*response.split(), floor=2) < 30


def lambda_by_length(example: dict[str, Any], prompt: str, response: str) -> bool:
    """Lambda by length."""
    words = sorted(response.split(), key=lambda word: (-len(word), word))
    return words[0] != words[-1]


def raises_and_catches(example: dict[str, Any], prompt: str, response: str) -> bool:
    """Raises and catches."""
    try:
        value = int(response.split()[-1].strip("."))
    except (ValueError, IndexError):
        return True
    finally:
        pass
    return value > 0


def raises_without_words(example: dict[str, Any], prompt: str, response: str) -> bool:
    """Raises without words."""
    return response.split()[0][0].isalpha()


def raises_without_key(example: dict[str, Any], prompt: str, response: str) -> bool:
    """Raises without key."""
    return example["missing"] in response


def formatted_values(example: dict[str, Any], prompt: str, response: str) -> bool:
    """Formatted values."""
    return f"{example['price']:>8.1f}|{len(response):04d}|{response[:3]!r}".count("|") == 2


async def comprehensions(example: dict[str, Any], prompt: str, response: str) -> bool:
    """Comprehensions."""
    letters = {sign: response.count(sign) for sign in set(response) if sign.isalpha()}
    return max(letters.values(), default=0) < 60 and {n % 2 for n in letters.values()} <= {0, 1}


def tuple_order(example: dict[str, Any], prompt: str, response: str) -> bool:
    """Tuple order."""
    return ("a", 1) < ("a", len(response)) < ("b", 0) and min(response.split(), default="") <= max(
        response.split(), default=""
    )


def rounded_share(example: dict[str, Any], prompt: str, response: str) -> bool:
    """Rounded share."""
    vowels = sum(response.lower().count(vowel) for vowel in "aeiouy")
    return round(vowels / max(1, len(response)), 2) <= 0.4


def uses_string(example: dict[str, Any], prompt: str, response: str) -> bool:
    """Uses string."""
    import string

    return all(sign in string.printable for sign in response)


def uses_generator(example: dict[str, Any], prompt: str, response: str) -> bool:
    """Uses generator."""

    def lines() -> Any:
        yield from response.splitlines()

    return len(list(lines())) < 9


def uses_textwrap(example: dict[str, Any], prompt: str, response: str) -> bool:
    """Uses textwrap."""
    import textwrap

    return len(textwrap.wrap(response, 40)) < 9


def uses_statistics(example: dict[str, Any], prompt: str, response: str) -> bool:
    """Uses statistics."""
    import statistics

    return statistics.mean(map(len, response.split())) < 9


def uses_difflib(example: dict[str, Any], prompt: str, response: str) -> bool:
    """Uses difflib."""
    import difflib

    return difflib.SequenceMatcher(None, prompt, response).ratio() < 0.9


def uses_maketrans(example: dict[str, Any], prompt: str, response: str) -> bool:
    """Uses maketrans."""
    return response.translate(str.maketrans("", "", ".,")).count(" ") < 90


def uses_method_of_type(example: dict[str, Any], prompt: str, response: str) -> bool:
    """Uses method of type."""
    return sum(map(str.islower, response)) > 3


def uses_callable_replacement(example: dict[str, Any], prompt: str, response: str) -> bool:
    """Uses callable replacement."""
    return "X" in re.sub(r"\w", lambda hit: hit[0].upper(), response + "x")


def uses_del(example: dict[str, Any], prompt: str, response: str) -> bool:
    """Uses del."""
    words = response.split()
    del words[:1]
    return len(words) < 90


def uses_html(example: dict[str, Any], prompt: str, response: str) -> bool:
    """Uses html."""
    import html

    return html.unescape(response) == response


SUPPORTED: tuple[Assertion, ...] = (
    first_ten_words,
    pairs_of_items,
    chained_fields,
    is_ascii,
    no_emoji,
    composed_letters,
    without_accents,
    letters_are_latin,
    no_control_signs,
    mostly_lower_case,
    no_shouting,
    title_case,
    case_folds,
    greets,
    greets_by_name,
    signs_off,
    says_you,
    does_not_apologise,
    no_banned_word,
    no_placeholder,
    repeats_no_input,
    shorter_than_the_prompt,
    quotes_the_prompt,
    lines_are_short,
    paragraphs,
    no_blank_ends,
    indented_evenly,
    has_a_table,
    partition_at_colon,
    answer_after_colon,
    key_value_lines,
    joined_again,
    slices,
    translated_signs,
    walrus,
    matches_a_shape,
    counts_in_a_loop,
    nested_function,
    closure_over_a_list,
    star_arguments,
    lambda_by_length,
    raises_and_catches,
    raises_without_words,
    raises_without_key,
    formatted_values,
    comprehensions,
    tuple_order,
    rounded_share,
)
UNSUPPORTED: tuple[Assertion, ...] = (
    uses_string,
    uses_generator,
    uses_textwrap,
    uses_statistics,
    uses_difflib,
    uses_maketrans,
    uses_method_of_type,
    uses_callable_replacement,
    uses_del,
    uses_html,
)
