"""Assertions in the style of SPADE's, ``(example, prompt, response) -> bool``.

``test_python_samples.py`` runs each in Monty and in CPython. Their bodies vary in what they use of the language and of
its library; those of ``UNSUPPORTED`` use what Monty lacks.
"""

from __future__ import annotations

import collections
import datetime
import itertools
import json
import math
import re
from collections.abc import Callable
from typing import Any

Assertion = Callable[..., object]


def names_the_product(example: dict[str, Any], prompt: str, response: str) -> bool:
    return str(example["product"]).lower() in response.lower()


def names_every_item(example: dict[str, Any], prompt: str, response: str) -> bool:
    return all(item.lower() in response.lower() for item in example["items"])


def names_some_item(example: dict[str, Any], prompt: str, response: str) -> bool:
    return any(re.search(rf"\b{re.escape(item)}\b", response, re.IGNORECASE) for item in example["items"])


def items_in_their_order(example: dict[str, Any], prompt: str, response: str) -> bool:
    places = [response.find(item) for item in example["items"]]
    return -1 not in places and places == sorted(places)


def has_few_words(example: dict[str, Any], prompt: str, response: str) -> bool:
    return len(response.split()) <= 60


def has_enough_words(example: dict[str, Any], prompt: str, response: str) -> bool:
    return len(response.split()) >= int(example["least"])


def words_in_bounds(example: dict[str, Any], prompt: str, response: str) -> bool:
    count = len(re.findall(r"[\w'-]+", response))
    return 5 <= count <= 80


def few_sentences(example: dict[str, Any], prompt: str, response: str) -> bool:
    return len([part for part in re.split(r"(?<=[.!?])\s+", response.strip()) if part]) <= 4


async def ends_in_a_full_stop(example: dict[str, Any], prompt: str, response: str) -> bool:
    return response.rstrip().endswith((".", "!", "?", "…"))


def begins_with_a_capital(example: dict[str, Any], prompt: str, response: str) -> bool:
    return response[:1].isupper()


def has_bullets(example: dict[str, Any], prompt: str, response: str) -> bool:
    return sum(line.lstrip().startswith(("- ", "* ", "• ")) for line in response.splitlines()) >= 2


def has_three_bullets(example: dict[str, Any], prompt: str, response: str) -> bool:
    return len(re.findall(r"^\s*[-*•] ", response, re.MULTILINE)) == 3


def bullets_are_short(example: dict[str, Any], prompt: str, response: str) -> bool:
    bullets = [line[2:] for line in response.split("\n") if line.startswith("- ")]
    return all(len(bullet) < 40 for bullet in bullets)


def numbered_from_one(example: dict[str, Any], prompt: str, response: str) -> bool:
    numbers = [int(number) for number in re.findall(r"^(\d+)\.", response, re.M)]
    return numbers == list(range(1, len(numbers) + 1))


def no_numbered_list(example: dict[str, Any], prompt: str, response: str) -> bool:
    return re.search(r"(?m)^\d+[.)]\s", response) is None


def is_json(example: dict[str, Any], prompt: str, response: str) -> bool:
    try:
        json.loads(response)
    except ValueError:
        return False
    return True


def is_json_object(example: dict[str, Any], prompt: str, response: str) -> bool:
    try:
        return isinstance(json.loads(response), dict)
    except json.JSONDecodeError:
        return False


async def json_has_keys(example: dict[str, Any], prompt: str, response: str) -> bool:
    data = json.loads(response)
    return {"name", "price"} <= set(data)


def json_price_is_a_number(example: dict[str, Any], prompt: str, response: str) -> bool:
    return isinstance(json.loads(response).get("price"), (int, float))


def json_list_is_sorted(example: dict[str, Any], prompt: str, response: str) -> bool:
    tags: list[str] = json.loads(response)["tags"]
    return tags == sorted(tags, key=lambda tag: tag.lower())


def json_round_trip(example: dict[str, Any], prompt: str, response: str) -> bool:
    data = json.loads(response)
    return bool(json.loads(json.dumps(data, sort_keys=True)) == data)


def json_in_a_fence(example: dict[str, Any], prompt: str, response: str) -> bool:
    hit = re.search(r"```(?:json)?\n(.*?)\n```", response, re.DOTALL)
    return hit is not None and "name" in json.loads(hit.group(1))


def json_compact(example: dict[str, Any], prompt: str, response: str) -> bool:
    return json.dumps(json.loads(response), separators=(",", ":"), ensure_ascii=False) == response


def no_markdown(example: dict[str, Any], prompt: str, response: str) -> bool:
    return not any(mark in response for mark in ("**", "##", "```", "__"))


def bold_is_closed(example: dict[str, Any], prompt: str, response: str) -> bool:
    return response.count("**") % 2 == 0


def one_heading(example: dict[str, Any], prompt: str, response: str) -> bool:
    return len([line for line in response.splitlines() if re.match(r"#{1,3} \S", line)]) == 1


async def links_are_https(example: dict[str, Any], prompt: str, response: str) -> bool:
    return all(link.startswith("https://") for link in re.findall(r"https?://\S+", response))


def links_are_of_the_shop(example: dict[str, Any], prompt: str, response: str) -> bool:
    links = re.findall(r"\]\((\S+?)\)", response)
    return all(example["site"] in link for link in links)


def has_a_link(example: dict[str, Any], prompt: str, response: str) -> bool:
    return bool(re.search(r"\[[^\]]+\]\(https?://[^)\s]+\)", response))


def no_mail_address(example: dict[str, Any], prompt: str, response: str) -> bool:
    return re.search(r"[\w.+-]+@[\w-]+\.\w+", response) is None


def phone_is_short(example: dict[str, Any], prompt: str, response: str) -> bool:
    return all(len(re.sub(r"\D", "", number)) <= 12 for number in re.findall(r"\+?[\d /-]{7,}", response))


def price_is_right(example: dict[str, Any], prompt: str, response: str) -> bool:
    return f"{example['price']:.2f}" in response.replace(",", ".")


def price_with_sign(example: dict[str, Any], prompt: str, response: str) -> bool:
    return re.search(r"[€$]\s?\d+(?:[.,]\d{2})?|\d+(?:[.,]\d{2})?\s?(?:€|EUR|euros?)", response) is not None


def total_adds_up(example: dict[str, Any], prompt: str, response: str) -> bool:
    amounts = [float(amount) for amount in re.findall(r"\d+\.\d{2}", response)]
    return not amounts or math.isclose(sum(amounts[:-1]), amounts[-1], abs_tol=0.005)


def numbers_grow(example: dict[str, Any], prompt: str, response: str) -> bool:
    numbers = [int(number) for number in re.findall(r"\d+", response)]
    return all(a <= b for a, b in itertools.pairwise(numbers))


async def largest_number_is_small(example: dict[str, Any], prompt: str, response: str) -> bool:
    return max((int(number) for number in re.findall(r"\d+", response)), default=0) < 3000


def mean_of_numbers(example: dict[str, Any], prompt: str, response: str) -> bool:
    numbers = [int(number) for number in re.findall(r"\d+", response)]
    return sum(numbers) / len(numbers) < 500


def share_in_percent(example: dict[str, Any], prompt: str, response: str) -> bool:
    return all(0 <= float(share) <= 100 for share in re.findall(r"(\d+(?:\.\d+)?)\s?%", response))


def has_a_date(example: dict[str, Any], prompt: str, response: str) -> bool:
    return re.search(r"\b\d{4}-\d{2}-\d{2}\b", response) is not None


def dates_exist(example: dict[str, Any], prompt: str, response: str) -> bool:
    dates = [datetime.date.fromisoformat(hit) for hit in re.findall(r"\d{4}-\d{2}-\d{2}", response)]
    return len(dates) > 0


def dates_in_order(example: dict[str, Any], prompt: str, response: str) -> bool:
    dates = [datetime.datetime.strptime(hit, "%Y-%m-%d") for hit in re.findall(r"\d{4}-\d{2}-\d{2}", response)]
    return dates == sorted(dates)


def after_the_order(example: dict[str, Any], prompt: str, response: str) -> bool:
    day = datetime.date.fromisoformat(example["ordered"])
    hit = re.search(r"\d{4}-\d{2}-\d{2}", response)
    return hit is not None and datetime.date.fromisoformat(hit[0]) > day


def within_a_fortnight(example: dict[str, Any], prompt: str, response: str) -> bool:
    first = datetime.date.fromisoformat(example["ordered"])
    hit = re.findall(r"\d{4}-\d{2}-\d{2}", response)
    return all((datetime.date.fromisoformat(day) - first).days <= 14 for day in hit)


def on_a_weekday(example: dict[str, Any], prompt: str, response: str) -> bool:
    hit = re.findall(r"\d{4}-\d{2}-\d{2}", response)
    return all(datetime.date.fromisoformat(day).weekday() < 5 for day in hit)


async def year_is_near(example: dict[str, Any], prompt: str, response: str) -> bool:
    years = [int(year) for year in re.findall(r"\b(?:19|20)\d\d\b", response)]
    return all(abs(year - 2026) < 30 for year in years)


def no_word_three_times(example: dict[str, Any], prompt: str, response: str) -> bool:
    counts = collections.Counter(response.lower().split())
    return all(count < 3 for word, count in counts.items() if len(word) > 6)


def commonest_word_is_short(example: dict[str, Any], prompt: str, response: str) -> bool:
    counts = collections.Counter(re.findall(r"\w+", response.lower()))
    return len(counts.most_common(1)[0][0]) <= 4


def many_different_words(example: dict[str, Any], prompt: str, response: str) -> bool:
    words = re.findall(r"\w+", response.lower())
    return len(set(words)) / len(words) > 0.5


def words_by_length(example: dict[str, Any], prompt: str, response: str) -> bool:
    by_length = collections.defaultdict(list)
    for word in response.split():
        by_length[len(word)].append(word)
    return max(by_length) < 25


def first_words_are_new(example: dict[str, Any], prompt: str, response: str) -> bool:
    firsts = [line.split()[0] for line in response.splitlines() if line.strip()]
    return len(firsts) == len(set(firsts))


def last_three_lines(example: dict[str, Any], prompt: str, response: str) -> bool:
    lines = collections.deque(response.splitlines(), maxlen=3)
    return sum(map(len, lines)) < 300


def runs_of_a_letter(example: dict[str, Any], prompt: str, response: str) -> bool:
    return max(len(list(group)) for _, group in itertools.groupby(response)) < 4


def neighbours_differ(example: dict[str, Any], prompt: str, response: str) -> bool:
    words = response.lower().split()
    return all(a != b for a, b in itertools.pairwise(words))


SUPPORTED: tuple[Assertion, ...] = (
    names_the_product,
    names_every_item,
    names_some_item,
    items_in_their_order,
    has_few_words,
    has_enough_words,
    words_in_bounds,
    few_sentences,
    ends_in_a_full_stop,
    begins_with_a_capital,
    has_bullets,
    has_three_bullets,
    bullets_are_short,
    numbered_from_one,
    no_numbered_list,
    is_json,
    is_json_object,
    json_has_keys,
    json_price_is_a_number,
    json_list_is_sorted,
    json_round_trip,
    json_in_a_fence,
    json_compact,
    no_markdown,
    bold_is_closed,
    one_heading,
    links_are_https,
    links_are_of_the_shop,
    has_a_link,
    no_mail_address,
    phone_is_short,
    price_is_right,
    price_with_sign,
    total_adds_up,
    numbers_grow,
    largest_number_is_small,
    mean_of_numbers,
    share_in_percent,
    has_a_date,
    dates_exist,
    dates_in_order,
    after_the_order,
    within_a_fortnight,
    on_a_weekday,
    year_is_near,
    no_word_three_times,
    commonest_word_is_short,
    many_different_words,
    words_by_length,
    first_words_are_new,
    last_three_lines,
    runs_of_a_letter,
    neighbours_differ,
)


def uses_string(example: dict[str, Any], prompt: str, response: str) -> bool:
    import string

    return all(sign in string.printable for sign in response)


def uses_generator(example: dict[str, Any], prompt: str, response: str) -> bool:

    def lines() -> Any:
        yield from response.splitlines()

    return len(list(lines())) < 9


def uses_textwrap(example: dict[str, Any], prompt: str, response: str) -> bool:
    import textwrap

    return len(textwrap.wrap(response, 40)) < 9


def uses_statistics(example: dict[str, Any], prompt: str, response: str) -> bool:
    import statistics

    return statistics.mean(map(len, response.split())) < 9


def uses_difflib(example: dict[str, Any], prompt: str, response: str) -> bool:
    import difflib

    return difflib.SequenceMatcher(None, prompt, response).ratio() < 0.9


def uses_maketrans(example: dict[str, Any], prompt: str, response: str) -> bool:
    return response.translate(str.maketrans("", "", ".,")).count(" ") < 90


def uses_method_of_type(example: dict[str, Any], prompt: str, response: str) -> bool:
    return sum(map(str.islower, response)) > 3


def uses_callable_replacement(example: dict[str, Any], prompt: str, response: str) -> bool:
    return "X" in re.sub(r"\w", lambda hit: hit[0].upper(), response + "x")


def uses_del(example: dict[str, Any], prompt: str, response: str) -> bool:
    words = response.split()
    del words[:1]
    return len(words) < 90


def uses_html(example: dict[str, Any], prompt: str, response: str) -> bool:
    import html

    return html.unescape(response) == response


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
