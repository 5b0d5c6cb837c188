from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from promptpex.llm.names import parse_models
from promptpex.llm.resolve_model import as_in_name, from_name


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1))
def test_any_path_goes_into_a_name_and_comes_out_again(path: str) -> None:
    written = as_in_name(path)
    assert from_name(written) == path
    if not path.endswith("/"):
        (model,) = parse_models(f"replay/{written}")
        assert model.name == f"replay/{written}"
