"""What takes long comes first, what shares something costly stays together, and importing tests is shared."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from tests.importing import TESTS, modules_in, share_of
from tests.spread import COSTLY, in_parts


@dataclass(frozen=True)
class One:
    number: int
    file: int
    costly: str | None = None
    slow: bool = False


def ordered(tests: list[One], processes: int) -> list[One]:
    return in_parts(tests, processes, lambda one: one.costly, lambda one: one.slow, lambda one: one.file)


tests_of_files = st.lists(st.tuples(st.integers(1, 4), st.sampled_from([None, None, *COSTLY]), st.booleans())).map(
    lambda files: [
        One(10 * number + at, number, costly, slow)
        for number, (many, costly, slow) in enumerate(files)
        for at in range(many)
    ]
)


@given(tests_of_files, st.integers(1, 5))
def test_each_is_there_once_and_files_and_what_is_shared_stay_together(tests: list[One], processes: int) -> None:
    given_out = ordered(tests, processes)
    assert sorted(given_out, key=lambda one: one.number) == tests
    for name in COSTLY:
        places = [at for at, one in enumerate(given_out) if one.costly == name]
        assert places == list(range(min(places, default=0), min(places, default=0) + len(places)))


def test_parts_begin_with_what_is_costly_then_what_is_slow() -> None:
    files = [One(number, number // 2) for number in range(20)]
    files[10] = One(10, 5, costly=COSTLY[0])
    files[14] = One(14, 7, slow=True)
    files[18] = One(18, 9, slow=True)
    first, second = ordered(files, 2)[:10], ordered(files, 2)[10:]
    assert [one.number for one in first[:4]] == [10, 18, 19, 0]
    assert [one.number for one in second[:3]] == [14, 15, 7]
    assert [one.number for one in second[-2:]] == [16, 17]


@given(st.integers(0, 50), st.integers(1, 5))
def test_each_module_is_the_share_of_one_process(many: int, processes: int) -> None:
    modules = [*map(str, range(many))]
    shares = [share_of(modules, number, processes) for number in range(processes)]
    assert [module for share in shares for module in share] == modules
    assert max(map(len, shares)) - min(map(len, shares)) <= 1
    assert not share_of(modules, processes, processes), "of one that takes the place of another that died"


def test_the_names_of_modules_are_those_that_collecting_them_gives() -> None:
    assert __name__ in modules_in(TESTS)
