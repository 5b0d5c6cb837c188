"""The versions of a prompt from git, from folders and from files."""

from __future__ import annotations

import os
import shutil
import subprocess
from datetime import datetime
from pathlib import Path

import pytest

from promptpex.core.errors import SynthesisError
from promptpex.promptfile import read
from promptpex.synthesis.history import git
from promptpex.synthesis.history.versions import WORKING_COPY, Versions, from_files, from_git
from tests.synthesis.repository import Repository

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


@pytest.fixture
def repo(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "checkout")


def history(repo: Repository, name: str = "prompt.md", since: datetime | None = None) -> Versions:
    """The versions of a prompt of this repository."""
    path = repo.folder / name
    return from_git(read(path), path, since=since)


def texts(made: Versions) -> list[str]:
    """The system message of each version."""
    return [version.messages[0].content for version in made.versions]


def test_commits_become_versions_with_time_and_note(repo: Repository) -> None:
    first = repo.commit("Begin", prompt_md="Be kind.")
    second = repo.commit("Ask for brevity\n\nThe team wants it.", prompt_md="Be kind. Be brief.")
    made = history(repo)
    assert [version.name for version in made.versions] == [first, second]
    assert [version.note for version in made.versions] == ["Begin", "Ask for brevity"]
    assert made.versions[0].time == "2026-03-01T10:00:00+00:00"
    assert made.notices == ()


def test_uncommitted_edits_are_the_last_version(repo: Repository) -> None:
    repo.commit("Begin", prompt_md="Be kind.")
    repo.write("prompt.md", "Be kind. Be brief.")
    assert [version.name for version in history(repo).versions][-1] == WORKING_COPY
    repo.write("prompt.md", "Be kind.\r\n")
    assert WORKING_COPY not in [version.name for version in history(repo).versions]


def test_only_what_a_model_is_sent_makes_a_version(repo: Repository) -> None:
    repo.commit("Begin", prompt_md="---\nname: a\n---\nBe kind.")
    repo.commit("Metadata", prompt_md="---\nname: b\ntags: [x]\n---\nBe kind.\n\n")
    repo.commit("User turn", prompt_md="---\nname: b\n---\nsystem:\nBe kind.\nuser:\n{{text}}")
    made = history(repo)
    assert [version.note for version in made.versions] == ["Begin", "User turn"]
    assert [message.role for message in made.versions[-1].messages] == ["system", "user"]


def test_renames_are_followed_and_copies_are_not(repo: Repository) -> None:
    long = "You answer letters of guests. Be kind to each of them. Sign every letter as Mara."
    repo.commit("Another prompt", other_md=long + " Always.")
    repo.commit("Begin", mail_md=long)
    (repo.folder / "mail.md").unlink()
    (repo.folder / "prompts").mkdir()
    (repo.folder / "prompts" / "reply.md").write_text(long + " Add the date.", encoding="utf-8")
    repo.commit("Rename")
    (repo.folder / "prompts" / "reply.md").rename(repo.folder / "answer.md")
    repo.commit("Rename again")
    assert texts(history(repo, "answer.md")) == [long, long + " Add the date."]


def test_a_file_that_was_deleted_and_came_back(repo: Repository) -> None:
    repo.commit("Begin", prompt_md="Be kind.")
    (repo.folder / "prompt.md").unlink()
    repo.commit("Drop it")
    repo.commit("Back", prompt_md="Count from one to ten.")
    assert texts(history(repo)) == ["Be kind.", "Count from one to ten."]


def test_a_merged_branch_counts_once(repo: Repository) -> None:
    repo.commit("Begin", prompt_md="Be kind.\n\n\n\nSign as Mara.", other_txt="x")
    repo.git("checkout", "-q", "-b", "brief")
    repo.commit("Brief", prompt_md="Be kind.\n\nBe brief.\n\nSign as Mara.")
    repo.git("checkout", "-q", "main")
    repo.commit("Elsewhere", other_txt="y")
    repo.git("merge", "-q", "--no-ff", "-m", "Merge brief", "brief")
    assert [version.note for version in history(repo).versions] == ["Begin", "Merge brief"]


def test_since_begins_with_the_prompt_as_it_was_then(repo: Repository) -> None:
    for number in range(4):
        repo.commit(f"Version {number}", prompt_md=f"Answer in {number} words.")
    made = history(repo, since=datetime.fromisoformat("2026-03-03T00:00:00+00:00"))
    assert [version.note for version in made.versions] == ["Version 1", "Version 2", "Version 3"]
    later = history(repo, since=datetime.fromisoformat("2026-05-01T00:00:00+00:00"))
    assert [version.note for version in later.versions] == ["Version 3"]


def test_a_version_that_cannot_be_read_is_named_and_left_out(repo: Repository) -> None:
    repo.commit("Begin", prompt_md="Be kind.")
    broken = repo.commit("Broken", prompt_md="Be {{ kind.")
    (repo.folder / "prompt.md").write_bytes(b"\xff\xfe\xff")
    binary = repo.commit("Binary")
    pointer = repo.commit("LFS", prompt_md="version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 3\n")
    repo.commit("Mended", prompt_md="Be brief.")
    made = history(repo)
    assert texts(made) == ["Be kind.", "Be brief."]
    for commit, word in ((broken, "the template is broken"), (binary, "UTF-16"), (pointer, "Git LFS")):
        assert any(commit in notice and word in notice for notice in made.notices)


def test_a_link_in_the_history_is_not_followed(repo: Repository) -> None:
    repo.write("secret.txt", "Be cruel.")
    (repo.folder / "prompt.md").symlink_to("secret.txt")
    linked = repo.commit("Link")
    (repo.folder / "prompt.md").unlink()
    repo.commit("File", prompt_md="Be kind.")
    made = history(repo)
    assert texts(made) == ["Be kind."]
    assert made.notices == (f"version {linked} is left out: it is a link or a submodule there",)


def test_a_prompt_that_git_does_not_know(repo: Repository, tmp_path: Path) -> None:
    repo.write("prompt.md", "Be kind.")
    assert "no commit yet" in history(repo).notices[0]
    repo.commit("Other", other_md="x")
    repo.git("rm", "-q", "--cached", "prompt.md")
    repo.git("commit", "-q", "--amend", "-m", "Other")
    made = history(repo)
    assert [version.name for version in made.versions] == [WORKING_COPY]
    assert "not committed yet" in made.notices[0]
    alone = tmp_path / "alone.md"
    alone.write_text("Be kind.", encoding="utf-8")
    assert "not in a git repository" in from_git(read(alone), alone).notices[0]


def test_without_git_there_is_the_file_alone(repo: Repository, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    repo.commit("Begin", prompt_md="Be kind.")
    monkeypatch.setenv("PATH", str(tmp_path))
    made = history(repo)
    assert [version.name for version in made.versions] == [WORKING_COPY]
    assert "git is not installed" in made.notices[0]


def test_shallow_clones_and_detached_heads(repo: Repository, tmp_path: Path) -> None:
    repo.commit("Begin", prompt_md="Be kind.")
    repo.commit("Second", prompt_md="Be brief.")
    clone = tmp_path / "clone"
    repo.git("clone", "-q", "--depth", "1", repo.folder.as_uri(), str(clone))
    made = from_git(read(clone / "prompt.md"), clone / "prompt.md")
    assert texts(made) == ["Be brief."]
    assert "shallow" in made.notices[0]
    repo.git("checkout", "-q", "HEAD~1")
    assert texts(history(repo)) == ["Be kind."]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give files away")
def test_a_repository_of_another_user_is_not_read(repo: Repository) -> None:
    repo.commit("Begin", prompt_md="Be kind.")
    for path in (repo.folder, repo.folder / ".git"):
        os.chown(path, 12345, 12345)
    made = history(repo)
    assert [version.name for version in made.versions] == [WORKING_COPY]
    assert "belongs to another user" in made.notices[0]


def test_a_prompt_in_a_submodule_has_the_history_of_the_submodule(repo: Repository, tmp_path: Path) -> None:
    inner = Repository(tmp_path / "inner")
    inner.commit("Begin", prompt_md="Be kind.")
    inner.commit("Second", prompt_md="Be brief.")
    repo.git("-c", "protocol.file.allow=always", "submodule", "-q", "add", str(inner.folder), "sub")
    repo.commit("Add it")
    assert texts(history(repo, "sub/prompt.md")) == ["Be kind.", "Be brief."]


@pytest.mark.parametrize("name", [":(glob)*.md", "a b.md", "-p.md", "ä\u0301.md", "*.md"])
def test_odd_names_are_taken_literally(repo: Repository, name: str) -> None:
    repo.commit("Other", other_md="Be brief.")
    repo.write(name, "Be kind.")
    repo.commit("Odd")
    assert texts(history(repo, name)) == ["Be kind."]


def test_a_hostile_repository_runs_nothing(repo: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mark = tmp_path / "ran"
    script = tmp_path / "script"
    script.write_text(f"#!/bin/sh\necho $0 $@ >> {mark}\ncat 2>/dev/null\n", encoding="utf-8")
    script.chmod(0o755)
    repo.commit("Begin", prompt_md="Be kind.")
    repo.commit("Second", prompt_md="Be brief.")
    _sign(repo)
    repo.write(".gitattributes", "* diff=x filter=x merge=x\n")
    for name in (
        "core.fsmonitor", "core.pager", "pager.log", "core.sshCommand", "core.askPass", "core.editor", "diff.external",
        "diff.x.command", "diff.x.textconv", "filter.x.clean", "filter.x.smudge", "filter.x.process", "gpg.program",
        "credential.helper", "core.alternateRefsCommand", "uploadpack.packObjectsHook", "core.gitProxy",
    ):  # fmt: skip
        repo.git("config", name, str(script))
    for name, value in (
        ("log.showSignature", "true"),
        ("core.repositoryFormatVersion", "1"),
        ("extensions.partialClone", "origin"),
        ("remote.origin.promisor", "true"),
        ("remote.origin.url", f"ext::{script}"),
        ("protocol.ext.allow", "always"),
        ("alias.log", f"!{script}"),
    ):
        repo.git("config", name, value)
    hooks = repo.folder / ".git" / "hooks"
    for hook in ("post-index-change", "reference-transaction", "post-checkout", "fsmonitor-watchman"):
        shutil.copy(script, hooks / hook)
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", str(script))
    monkeypatch.setenv("GIT_DIR", str(tmp_path))
    monkeypatch.setenv("GIT_SSH_COMMAND", str(script))
    blob = repo.git("rev-parse", "HEAD~1:prompt.md").strip()
    (repo.folder / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    made = history(repo)
    assert texts(made) == ["Be brief."]
    assert "its text is not in this clone" in made.notices[0]
    assert not mark.exists(), mark.read_text(encoding="utf-8")


def _sign(repo: Repository) -> None:
    """Gives the last commit a signature, which a viewer of signatures would be called for."""
    head, _, rest = repo.git("cat-file", "commit", "HEAD").partition("\n\n")
    signature = "gpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----"
    (repo.folder / "commit").write_text(f"{head}\n{signature}\n\n{rest}", encoding="utf-8")
    signed = repo.git("hash-object", "-t", "commit", "-w", "commit").strip()
    repo.git("update-ref", "HEAD", signed)
    (repo.folder / "commit").unlink()


def _fake_git(tmp_path: Path, body: str, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "git").write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
    (folder / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")


def test_a_git_that_never_answers_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _fake_git(tmp_path, f"sleep 1000 & echo $! > {tmp_path}/child\nwait", monkeypatch)
    with pytest.raises(SynthesisError, match=r"no answer within 0\.5 s"):
        git.git(tmp_path, "log", seconds=0.5)
    child = (tmp_path / "child").read_text(encoding="utf-8").strip()
    state = subprocess.run(["ps", "-o", "stat=", "-p", child], capture_output=True, text=True, check=False).stdout
    assert state.strip() in ("", "Z") or state.startswith("Z")


def test_a_flood_is_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _fake_git(tmp_path, "yes", monkeypatch)
    with pytest.raises(SynthesisError, match=r"more than 0\.1 MB"):
        git.git(tmp_path, "log", limit=100_000)


def test_a_git_in_the_folder_one_works_in_is_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _fake_git(tmp_path, "echo mine", monkeypatch)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    assert git.program() is not None
    monkeypatch.chdir(tmp_path / "bin")
    assert git.program() is None
    monkeypatch.setenv("PATH", ".")
    assert git.program() is None


def test_an_answer_that_is_no_history(repo: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repo.write("prompt.md", "Be kind.")
    _fake_git(tmp_path, "case \"$*\" in *\\ log\\ *) printf 'a\\0b\\0c\\0';; esac", monkeypatch)
    with pytest.raises(SynthesisError, match="git's output about the history cannot be read"):
        history(repo)


def test_a_folder_is_read_in_the_natural_order_of_names(tmp_path: Path) -> None:
    folder = tmp_path / "versions"
    folder.mkdir()
    for number in (10, 2, 1):
        (folder / f"v{number}.md").write_text(f"Answer in {number} words.", encoding="utf-8")
    (folder / "v3.json").write_text('[{"role": "system", "content": "Answer in 3 words."}]', encoding="utf-8")
    (folder / "v4.md").write_text("", encoding="utf-8")
    (folder / "v1.spec.yaml").write_text("prompt: v1.md", encoding="utf-8")
    (folder / "README.md").write_text("About these.", encoding="utf-8")
    (folder / "notes.csv").write_text("a,b", encoding="utf-8")
    prompt = tmp_path / "prompt.md"
    prompt.write_text("Answer in 10 words.", encoding="utf-8")
    made = from_files(read(prompt), prompt, [folder])
    assert [version.name for version in made.versions] == ["v1.md", "v2.md", "v3.json", "v10.md"]
    assert made.notices == ("version v4.md is left out: the prompt file is empty",)


def test_files_are_taken_in_the_order_given_and_the_prompt_is_last(tmp_path: Path) -> None:
    for name in ("b", "a", "c"):
        (tmp_path / f"{name}.md").write_text(f"Say {name}.", encoding="utf-8")
    prompt = tmp_path / "c.md"
    made = from_files(read(prompt), prompt, [tmp_path / "b.md", tmp_path / "a.md"])
    assert texts(made) == ["Say b.", "Say a.", "Say c."]
    other = from_files(read(prompt), prompt, [tmp_path / "a.md", prompt, tmp_path / "b.md"])
    assert texts(other) == ["Say a.", "Say c."]
    assert other.notices == ("left out: b.md, which come after c.md itself",)


def test_versions_of_one_name_are_told_apart(tmp_path: Path) -> None:
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "mail.md").write_text(f"Say {folder}.", encoding="utf-8")
    prompt = tmp_path / "two" / "mail.md"
    made = from_files(read(prompt), prompt, [tmp_path / "one" / "mail.md"])
    assert [version.name for version in made.versions] == ["mail.md", "mail.md (1)"]


def test_what_is_not_there_is_named(tmp_path: Path) -> None:
    prompt = tmp_path / "prompt.md"
    prompt.write_text("Be kind.", encoding="utf-8")
    with pytest.raises(SynthesisError, match="there is no such version"):
        from_files(read(prompt), prompt, [tmp_path / "gone.md"])
    (tmp_path / "empty").mkdir()
    with pytest.raises(SynthesisError, match="there is no prompt file"):
        from_files(read(prompt), prompt, [tmp_path / "empty"])
