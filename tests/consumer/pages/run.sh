#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Does what docs/installing.md and docs/compiled.md say, with the files and the commands of the pages.
set -euo pipefail
exec python3 -B "$(dirname "$0")/follow.py" "$@"
