"""What a stream through Ray Data leaves behind: processes for the next one, and no reports."""

from __future__ import annotations

import pytest

from promptpex.core.errors import SpecError
from promptpex.engines.ray_cluster import RayCluster
from promptpex.engines.ray_engine import RayEngine
from tests.engines.jobs import BrokenSource, FunctionJob, kept

pytestmark = pytest.mark.slow


async def test_a_stream_that_has_come_to_its_end_has_nothing_killed(
    ray: RayCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    import ray as library

    killed: list[object] = []
    monkeypatch.setattr(library, "cancel", lambda task, **_: killed.append(task))
    results: list[int] = []
    await kept(RayEngine(ray, 1).stream_from(FunctionJob(abs), range(20)), results)
    with pytest.raises(SpecError, match="thirty is refused"):
        await kept(RayEngine(ray, 1).stream_from(FunctionJob(abs), BrokenSource()), results)
    assert results == [*range(20), *range(30)]
    assert killed == []
    actors = [actor["name"] for actor in library.util.list_named_actors(all_namespaces=True)]
    assert not [name for name in actors if "usage" in name.lower()], "nobody counts what is done"
