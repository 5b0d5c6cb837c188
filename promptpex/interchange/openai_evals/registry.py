"""The registry's YAML of openai/evals: each eval as a rule, with the samples that it names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from promptpex.codecs.files.ordinary_files import inside, is_file
from promptpex.core.errors import InputError
from promptpex.core.records import Rule, Spec
from promptpex.core.translation import stored
from promptpex.documents import yaml_reader
from promptpex.interchange.format import Imported
from promptpex.interchange.notes import Log
from promptpex.interchange.openai_evals.classes import TEMPLATES
from promptpex.interchange.openai_evals.model_graded import CLASS, model_graded
from promptpex.interchange.openai_evals.samples import project, read_samples
from promptpex.interchange.reading.exchanges import Exchange, Ids
from promptpex.interchange.reading.foreign_values import At, mapping

_BY_CLASS = {grading.theirs: name for name, grading in TEMPLATES.items() if name != "includes-ignore-case"}
_READ = frozenset(("samples_jsonl", "ignore_case", "modelgraded_spec", "modelgraded_spec_args", "max_tokens"))


@dataclass(frozen=True, slots=True)
class _Entry:
    """An entry of the registry that says of which class an eval is."""

    name: str
    class_: str
    args: Mapping[str, object]
    at: At

    @property
    def samples(self) -> str:
        """The file that it names, as it stands there."""
        name = self.args.get("samples_jsonl")
        return name.strip() if isinstance(name, str) else ""


def read_registry(path: Path, log: Log) -> Imported:
    """All evals of a file: those over the same samples are the rules of one prompt.

    Raises:
        InputError: it is not such a file, or the samples that it names are damaged or lie elsewhere.
    """
    doc = yaml_reader.read(path, error=InputError, what="registry file")
    evals = list(_evals(mapping(doc.data, At(path, doc=doc), "a registry file"), At(path, doc=doc)))
    if not evals:
        raise InputError("no entry in this file names the class of an eval", path=path)
    by_samples: dict[str, list[_Entry]] = {}
    for each in evals:
        by_samples.setdefault(each.samples, []).append(each)
    parts = [part for group in by_samples.values() if (part := _part(group, path, log)) is not None]
    if not parts:
        first = next(iter(log.notes)).why
        raise InputError(f"nothing in this file can be imported; the first reason: {first}", path=path)
    return _joined(parts, log)


def _evals(entries: Mapping[str, object], top: At) -> Iterator[_Entry]:
    for name, value in entries.items():
        entry = mapping(value, top[name], "an entry")
        class_ = entry.get("class")
        if isinstance(class_, str):
            yield _Entry(name, class_.strip(), mapping(entry.get("args"), top[name]["args"], "args"), top[name])


def _part(evals: Sequence[_Entry], path: Path, log: Log) -> Imported | None:
    """The project of the evals over one file of samples; its rules alone where that is not there."""
    known_evals = [each for each in evals if _is_known(each, log)]
    if not known_evals:
        return None
    exchanges = _exchanges(known_evals[0], path, log)
    ids = Ids()
    rules, places, comparison = [], {}, None
    for each in known_evals:
        rule = _rule(each, exchanges, ids, path, log)
        if rule is None:
            continue
        rules.append(rule)
        places[rule.id] = each.at.name, str(each.at.path), each.at.line
        template = _template(each)
        comparison = TEMPLATES[template].comparison if template else comparison
        log.came("evals")
    if not exchanges:
        return Imported(spec=Spec(rules=tuple(rules)), places=places) if rules else None
    return replace(project(exchanges, path, log, rules, comparison), places=places)


def _is_known(each: _Entry, log: Log) -> bool:
    """Whether there is something like the class here; what of its arguments is not read is noted."""
    if each.class_ not in _BY_CLASS and each.class_ != CLASS:
        log.left_out(each.at.name, stored("promptpex has no equivalent of the class {kind}", kind=each.class_[:80]),
                     each.at.path, each.at["class"].line)  # fmt: skip
        return False
    for key in each.args:
        if key not in _READ and not (each.class_ == CLASS and key == "eval_type"):
            at = each.at["args"][key]
            log.left_out(at.name, stored("promptpex has no equivalent"), at.path, at.line)
    return True


def _template(each: _Entry) -> str | None:
    if each.class_ == TEMPLATES["includes"].theirs and each.args.get("ignore_case") is True:
        return "includes-ignore-case"
    return _BY_CLASS.get(each.class_)


def _rule(each: _Entry, exchanges: Sequence[Exchange], ids: Ids, path: Path, log: Log) -> Rule | None:
    template = _template(each)
    if template is not None:
        return TEMPLATES[template].rule(ids.free(each.name, template), exchanges)
    graded = model_graded(
        each.args, each.at["args"], lambda name: _file(path, f"{name}.yaml", "modelgraded", each.at), log
    )
    return graded.replace(id=ids.free(each.name, "graded")) if graded is not None else None


def _exchanges(each: _Entry, path: Path, log: Log) -> list[Exchange]:
    """The samples that an eval names, where they lie beside it or in the registry's folder of data."""
    at = each.at["args"]["samples_jsonl"]
    if not each.samples or "://" in each.samples:
        why = stored("addresses are not followed") if each.samples else stored("it names no samples")
        log.left_out(at.name, why, at.path, at.line)
        return []
    file = _file(path, each.samples, "data", at)
    if file is None:
        log.left_out(at.name, stored("the file with its samples is not beside it"), at.path, at.line)
        return []
    return read_samples(file, log)


def _file(path: Path, name: str, folder: str, at: At) -> Path | None:
    """A file that the registry names: in its folder for such files, or beside the YAML.

    Raises:
        InputError: the name leads out of the folder.
    """
    registry = path.absolute().parent.parent
    is_in_registry = path.absolute().parent.name == "evals" and (registry / folder).is_dir()
    tops = ([registry] if is_in_registry else []) + [path.parent]
    for top in tops:
        for candidate in (f"{folder}/{name}", name, Path(name).name):
            file = inside(top, candidate, error=InputError, what="file", path=at.path, line=at.line)
            if is_file(file):
                return file
    return None


def _joined(parts: Sequence[Imported], log: Log) -> Imported:
    """Several projects as one import, each with its own names of files."""
    all_parts = [each for part in parts for each in (replace(part, further=()), *part.further)]
    named = [
        replace(each, prompt=replace(each.prompt, stem=f"prompt-{number}")) if each.prompt and number > 1 else each
        for number, each in enumerate(sorted(all_parts, key=lambda part: part.prompt is None), 1)
    ]
    with_prompts = [each for number, each in enumerate(named) if number == 0 or each.prompt is not None]
    recorded = next((part.recorded for part in parts if part.recorded is not None), None) if len(parts) == 1 else None
    further = tuple(replace(each, recorded=None) for each in with_prompts[1:])
    return replace(with_prompts[0], further=further, over=dict(log.over), notes=log.notes, recorded=recorded)
