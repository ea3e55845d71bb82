#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# check_required.sh NAME WHAT YES|NO: passes if the machine has WHAT; otherwise skipped, or failed where TYPENET_REQUIRE
# lists NAME.
set -euo pipefail
. "$(dirname "$0")/compilers.sh"
case "$3" in
  "" | NO | OFF | FALSE | 0 | *NOTFOUND) require "$1" "$2" ;;
  *) echo "$2: $3" ;;
esac
