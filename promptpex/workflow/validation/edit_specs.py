"""What a person has `validate` write into specs: that they fit their prompts as these are now, and which checks go."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path

from promptpex.assertions import check_time
from promptpex.codecs.text.wording import did_you_mean, with_hint
from promptpex.core.errors import SpecError
from promptpex.core.records import Rule
from promptpex.core.translation import tr
from promptpex.specs import file as spec_file
from promptpex.workflow.validation.validate import files_with_spec


def confirm_prompts(paths: Iterable[Path | str]) -> list[Path]:
    """Writes the fingerprint of its prompt into each spec of these files that has another one or none; nothing else.

    What cannot be read, or has no spec, is passed over: ``validate`` says what is wrong with it.

    Returns:
        The specs that were written.

    Raises:
        SpecError: a spec that cannot be edited in place.
    """
    written: list[Path] = []
    with check_time():
        for prompt, path in files_with_spec(paths):
            spec = spec_file.examine(path).usable
            if spec is not None and spec.prompt_fingerprint != prompt.fingerprint:
                spec_file.write_spec(path, spec.replace(prompt_fingerprint=prompt.fingerprint))
                written.append(path)
    return written


def drop_checks(paths: Iterable[Path | str], rules: Collection[str]) -> list[str]:
    """Removes the checks of some rules from the one spec of these files, and says of each what is gone.

    Raises:
        SpecError: there is not one spec, it has no such rule, the rule has no check, or the file cannot be edited.
    """
    specs = list(dict.fromkeys(path for _, path in files_with_spec(paths)))
    if len(specs) != 1:
        raise SpecError(f"--drop-check is for one spec, and {len(specs)} are named here; name its prompt")
    (path,) = specs
    spec = spec_file.read_spec(path)
    chosen = {name: spec.rule(name) for name in dict.fromkeys(rules)}
    for name, rule in chosen.items():
        if rule is None or not rule.checks:
            what = "there is no such rule" if rule is None else "this rule has no check"
            hint = did_you_mean(name, [one.id for one in spec.rules if one.checks])
            raise SpecError(with_hint(f"--drop-check {name}: {what}", hint), path=path)
    kept = [rule.replace(checks=(), decides="wholly") if rule.id in chosen else rule for rule in spec.rules]
    spec_file.write_spec(path, spec.replace(rules=tuple(kept)), by_hand=True)
    return [_gone(path, rule) for rule in chosen.values() if rule is not None]


def _gone(path: Path, rule: Rule) -> str:
    kinds = ", ".join(check.kind for check in rule.checks)
    return tr(
        "{file}: {rule} has no check any more ({kinds}); a judge decides it", file=path, rule=rule.id, kinds=kinds
    )
