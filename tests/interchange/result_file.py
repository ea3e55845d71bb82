# SPDX-License-Identifier: MIT
"""Keeps results of long comparisons in a file, so that a later run goes on where an earlier one ended."""
import json


class Results(dict):
    """The results of this run and, if there is a file, of earlier ones: rows by the values of their `keys`."""

    def __init__(self, file, *keys):
        self.file, self.keys_of_rows = file, keys
        rows = map(json.loads, file.read_text().splitlines()) if file and file.exists() else ()
        super().__init__((self.key(row), row) for row in rows)

    def key(self, row):
        key = tuple(row[k] for k in self.keys_of_rows)
        return key if len(key) > 1 else key[0]

    def add(self, row):
        """Adds a row, and appends it to the file as a line of JSON."""
        self[self.key(row)] = row
        if self.file:
            with self.file.open("a") as out:
                out.write(json.dumps(row) + "\n")
