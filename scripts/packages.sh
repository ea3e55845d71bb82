# SPDX-License-Identifier: MIT
# Sourced by scripts/demo and scripts/test: installs missing packages on Debian and related distributions, and prints
# their names and the time it took. If nothing is missing, it changes nothing, not even the package lists.

# Whether a command exists, or the compiler finds a header; for sanitizers, whether a program can be linked with them.
typenet_has() {
  case "$1" in
    clang-19-sanitizers)
      printf 'int main() {}\n' | clang++-19 -fsanitize=address,undefined -x c++ - -o /dev/null >/dev/null 2>&1
      ;;
    clang-19-libc++)
      printf '#include <version>\nint main() {}\n' | clang++-19 -stdlib=libc++ -x c++ - -o /dev/null >/dev/null 2>&1
      ;;
    *.h | *.hpp) printf '#include <%s>\n' "$1" | g++ -std=c++20 -x c++ -E - >/dev/null 2>&1 ;;
    *) command -v "$1" >/dev/null 2>&1 ;;
  esac
}

# ensure_packages [--optional] THING=PACKAGE...: installs the package if typenet_has does not find the thing. If that
# fails, it prints a message, and returns an error unless the packages are optional.
ensure_packages() {
  local optional= pair missing=() start=$SECONDS as_root=()
  if [ "$1" = --optional ]; then optional=1; shift; fi
  for pair; do typenet_has "${pair%%=*}" || missing+=("${pair#*=}"); done
  [ "${#missing[@]}" -gt 0 ] || return 0

  if ! command -v apt-get >/dev/null 2>&1; then
    echo "packages are missing and apt-get was not found; install the counterparts of these Debian packages: ${missing[*]}" >&2
    [ -n "$optional" ]
    return
  fi
  if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null 2>&1; then
      echo "packages are missing and sudo was not found; run as root: apt-get install ${missing[*]}" >&2
      [ -n "$optional" ]
      return
    fi
    as_root=(sudo)
  fi
  echo "installing: ${missing[*]}"
  # A machine that has just started may be updating its packages: wait up to five minutes for that.
  local apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive LC_ALL=C apt-get -q -o Dpkg::Use-Pty=0
    -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3)
  if [ -z "${typenet_lists_updated:-}" ]; then
    local said
    until said=$("${apt[@]}" update 2>&1 >/dev/null); do
      case "$said" in *"Could not get lock"*) [ $((SECONDS - start)) -ge 300 ] || { sleep 5; continue; } ;; esac
      printf '%s\n' "$said" "apt-get update failed; trying with the existing package lists" >&2
      break
    done
    typenet_lists_updated=1
  fi
  if ! "${apt[@]}" install -y --no-install-recommends "${missing[@]}" </dev/null >/dev/null; then
    echo "could not install: ${missing[*]}" >&2
    [ -n "$optional" ]
    return
  fi
  echo "installed in $((SECONDS - start)) s"
}
