# SPDX-License-Identifier: MIT
"""Tests accuracy_curves by running it as a program. Needs gnuplot."""
import pathlib
import shutil
import subprocess
import tempfile
import unittest
from xml.etree import ElementTree

PROGRAM = pathlib.Path(__file__).resolve().parent / "accuracy_curves"
HISTORY = "epoch,loss,acc,val_loss,val_acc\n1,1.5,0.41,1.4,0.52\n2,1.0,0.62,1.1,0.61\n"


@unittest.skipUnless(shutil.which("gnuplot"), "no gnuplot")
class Curves(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        (self.folder / "one.csv").write_text(HISTORY)
        (self.folder / "two.csv").write_text(HISTORY + "3,0.8,0.7,0.9,0.68\n")

    def draw(self, picture, *runs):
        return subprocess.run([PROGRAM, self.folder / picture, *runs], cwd=self.folder, capture_output=True, text=True,
                              check=False)

    def test_every_run_has_two_curves_and_its_name(self):
        done = self.draw("curves.svg", "here=one.csv", "that's <there>=two.csv")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        drawn = ElementTree.parse(self.folder / "curves.svg")
        words = "|".join(t.strip() for t in drawn.getroot().itertext() if t.strip())
        for name in ("here", "here, training set", "that's <there>", "that's <there>, training set", "Accuracy"):
            self.assertIn(name, words)

    def test_pictures_by_name(self):
        self.assertEqual(self.draw("curves.png", "a=one.csv").returncode, 0)
        self.assertEqual((self.folder / "curves.png").read_bytes()[:4], b"\x89PNG")
        self.assertIn(".svg or .png", self.draw("curves.jpg", "a=one.csv").stderr)

    def test_only_force_replaces_a_file(self):
        picture = self.folder / "curves.png"
        picture.write_text("mine")
        self.assertIn("curves.png must not exist", self.draw("curves.png", "a=one.csv").stderr)
        self.assertEqual(picture.read_text(), "mine")
        self.assertEqual(self.draw("curves.png", "a=one.csv", "--force").returncode, 0)
        self.assertEqual(picture.read_bytes()[:4], b"\x89PNG")

    def test_what_is_no_history_is_named_and_nothing_drawn(self):
        (self.folder / "empty.csv").write_text("epoch,acc,val_acc\n")
        (self.folder / "other.csv").write_text("epoch,accuracy\n1,0.5\n")
        for run, said in (("a=empty.csv", "no epochs"), ("a=other.csv", "columns"), ("a=missing.csv", "missing.csv"),
                          ("one.csv", "NAME=HISTORY.csv")):
            done = self.draw("curves.svg", run)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(said, done.stderr)
            self.assertFalse((self.folder / "curves.svg").exists())


if __name__ == "__main__":
    unittest.main()
