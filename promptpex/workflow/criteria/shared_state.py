"""The criteria of a prompt beside the desk where its outputs are graded: what changes in one is seen at the other."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from promptpex.config import Resolved
from promptpex.core.errors import InputError
from promptpex.core.events import Listener, ignore_events
from promptpex.core.records import Rule, Run, Synthesis
from promptpex.grading.labels import LabelRules
from promptpex.grading.subjects import subjects_of
from promptpex.llm.client import Client
from promptpex.specs.file import read_spec
from promptpex.workflow.criteria.criteria_page import CriteriaProject
from promptpex.workflow.grading.machine_opinions import opinions_of
from promptpex.workflow.grading.open_desk import GradingProject
from promptpex.workflow.project_files import files_of
from promptpex.workflow.synthesis.update_examples import ExampleSources, update_examples


def criteria_beside(
    project: GradingProject,
    resolved: Resolved,
    how: LabelRules,
    *,
    provider: Client | None = None,
    emit: Listener = ignore_events,
) -> CriteriaProject:
    """The criteria of a project that is graded, to be closed at the end.

    A criterion that comes, goes or is reworded does so at the desk too, what candidates say of outputs is an opinion
    there at once, and the examples that a choice is made on keep up with people's grades.

    Args:
        resolved: the settings; author and judge among them.
        how: how grades become labels.
        provider: who answers; None = the real ones.
        emit: is given the events of what goes on in the background.
    """
    files = files_of(project.file)

    def changed(synthesis: Synthesis) -> None:
        spec = read_spec(files.spec) if files.spec.exists() else project.spec
        subjects = subjects_of(spec.rules, (one for one in synthesis.criteria if one.selected))
        opinions = opinions_of(project.desk.pool, project.runs, spec, synthesis, project.folder)
        project.desk.regard(subjects, opinions)
        if synthesis.candidates:
            with suppress(InputError):  # a choice says by itself what is wrong with its examples
                _update_examples(project, spec.rules, how)

    return CriteriaProject(resolved, files, project.desk.pool, how, changed, provider=provider, emit=emit)


def _update_examples(project: GradingProject, rules: Sequence[Rule], how: LabelRules) -> None:
    """Brings the examples of the synthesis folder up to date with the runs of this version, and their labels.

    Args:
        rules: of the spec, as it is now.
    """
    current = [run for run in project.runs if run.prompt.fingerprint == project.prompt.fingerprint]
    sources_of_runs: tuple[Run | None, ...] = tuple(current) or (None,)
    for run in sources_of_runs:
        sources = ExampleSources(run=run, rules=how)
        update_examples(project.folder, project.file, project.prompt, rules, sources, ignore_events)
