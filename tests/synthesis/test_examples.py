"""Examples are the usable outputs of the final version, each text once."""

from __future__ import annotations

import pytest

from promptpex.core.errors import RunError
from promptpex.core.records import output_key
from promptpex.synthesis.examples import examples_of, merged, of_version, require_final
from tests import samples
from tests.synthesis.labelled import INPUTS, output, run_of


def test_outputs_with_the_same_text_for_the_same_inputs_are_one_example() -> None:
    made = examples_of(
        run_of(
            output("c1", "BLUE"),
            output("c1", "BLUE", repeat=1),
            output("c1", "BLUE", model="other"),
            output("c2", "BLUE"),
            output("c2", "GREEN", repeat=1),
            output("c2", "cut off", model="other", error="truncated"),
            output("c1", None, model="third", error="timed-out"),
        )
    )
    assert [(one.case, one.output, one.times) for one in made.examples] == [
        ("c1", "BLUE", 3),
        ("c2", "BLUE", 1),
        ("c2", "GREEN", 1),
    ]
    first = made.examples[0]
    assert first.id == output_key(INPUTS["c1"], "BLUE")
    assert first.prompt == "Name the colour of the thing in one word. Answer in capitals.\nsky\nhere"
    assert (first.label, first.version) == (None, samples.prompt().fingerprint)
    assert made.of_output["c1", "other", 0] == first.id
    assert made.sentence() == (
        "3 examples; 2 outputs with the same text as another one for the same inputs; 2 outputs that cannot be used"
    )


def test_a_run_with_other_outputs_has_other_items() -> None:
    run = run_of(output("c1", "BLUE"))
    assert list(run.item_ids.values()) == [output_key(INPUTS["c1"], "BLUE")]
    again = run.replace(outputs=(output("c1", "RED"), output("c9", "RED"), output("c2", None, error="timed-out")))
    assert again.item_ids == {("c1", "m", 0): output_key(INPUTS["c1"], "RED")}


def test_a_run_of_other_words_is_refused() -> None:
    run = run_of(output("c1", "BLUE"))
    require_final(run, samples.prompt())
    with pytest.raises(RunError, match="made with an earlier text of colours"):
        require_final(run, samples.prompt("Name the colour."))


def test_a_case_that_is_gone_gives_no_example() -> None:
    made = examples_of(run_of(output("c9", "BLUE"), output("c1", "BLUE")))
    assert [one.case for one in made.examples] == ["c1"]
    assert made.unusable == 1


def test_earlier_examples_stay_in_their_place_and_keep_the_label_of_a_table() -> None:
    old, new = (examples_of(run_of(output("c1", "BLUE"), output("c2", text))).examples for text in ("GREEN", "RED"))
    labelled = old[0].replace(label="bad", label_from="line 2", from_table=True)
    both = merged([labelled, old[1].replace(label="good", label_from="ada")], new)
    assert [(one.output, one.label) for one in both] == [("BLUE", "bad"), ("GREEN", "good"), ("RED", None)]


def test_choices_are_made_on_the_final_version_and_on_imported_examples() -> None:
    examples = examples_of(run_of(output("c1", "BLUE"))).examples
    imported = examples[0].replace(id="i", version="")
    old = examples[0].replace(id="o", version="older")
    version = samples.prompt().fingerprint
    assert [one.id for one in of_version([old, *examples, imported], version)] == [examples[0].id, "i"]
