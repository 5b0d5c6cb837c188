"""A synthesis on the embedded model: whatever it says, the files are whole and a second look goes on from them."""

from __future__ import annotations

from pathlib import Path

import pytest

from promptpex.synthesis.folder import HISTORY, SynthesisFolder, read_candidates
from tests.e2e.command import in_process
from tests.synthesis import audio_guide as guide

pytestmark = [pytest.mark.embedded, pytest.mark.slow]


@pytest.mark.long
def test_the_embedded_model_breaks_nothing(tmp_path: Path, shallow: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROMPTPEX_EMBEDDED_MODEL", str(shallow))
    guide.write_versions(tmp_path / "versions", 1)
    prompt = tmp_path / "guide.md"
    prompt.write_text(guide.VERSIONS[0], encoding="utf-8")
    arguments = ("synthesize", "guide.md", "--versions", "versions", "-a", "embedded/smollm2-135m?max_tokens=64")
    done = in_process(*arguments, cwd=tmp_path)
    assert done.code in (0, 3), done.err
    assert "Traceback" not in done.err
    folder = SynthesisFolder.of(prompt)
    history = HISTORY.read(folder.versions)
    assert history is not None
    assert [len(delta.changes) for delta in history.deltas] == [2]
    synthesis = read_candidates(folder.candidates)
    in_vain = "the author gave nothing usable for" in done.err
    assert (done.code == 3) == (in_vain and not synthesis.candidates)
    assert done.out.splitlines()[-1].startswith(f"{len(synthesis.candidates)} candidate")
    again = in_process(*arguments, "--dry-run", "--json", cwd=tmp_path)
    assert again.code == 0, again.err
