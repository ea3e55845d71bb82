# SPDX-License-Identifier: MIT
"""Tests which commit is reported for a copy of the files without their repository."""
import pathlib
import shutil
import subprocess
import unittest
from unittest import mock

from support import Case
import carry
import measuring


@unittest.skipUnless(shutil.which("git"), "git was not found")
class Commit(Case):
    def test_where_there_is_no_repository(self):
        note, root = self.folder / "carry/COMMIT", self.folder / "copy"
        root.mkdir()
        self.assertEqual(measuring.commit(root, note), "unknown")
        repository = self.folder / "repository"
        git = ["git", "-c", "user.name=x", "-c", "user.email=x@x", "-c", "commit.gpgsign=false", "-C", repository]
        subprocess.run(["git", "init", "-q", repository], check=True)
        (repository / "file").write_text("one")
        subprocess.run([*git, "add", "file"], check=True)
        subprocess.run([*git, "commit", "-q", "-m", "one"], check=True)
        carry.note_commit(note, repository)
        commit = note.read_text().strip()
        self.assertRegex(commit, "^[0-9a-f]{7,}$")
        self.assertEqual(measuring.commit(repository, note), commit)
        self.assertEqual(measuring.commit(root, note), f"{commit}, as carried")
        (repository / "file").write_text("two")
        carry.note_commit(note, repository)
        self.assertEqual(measuring.commit(root, note), f"{commit}-dirty, as carried")
        carry.note_commit(note, root)  # this tree is itself such a copy
        self.assertEqual(measuring.commit(root, note), f"{commit}-dirty, as carried")

    def test_a_copy_within_another_repository(self):
        subprocess.run(["git", "init", "-q", self.folder], check=True)
        (self.folder / "copy").mkdir()
        with mock.patch.object(measuring, "first_line", return_value="of the outer one"):
            self.assertEqual(measuring.commit(self.folder / "copy", pathlib.Path("/not/there")), "unknown")


if __name__ == "__main__":
    unittest.main()
