#!/usr/bin/env bash
# Make sure that a Docker engine answers. Exit status 69 (unavailable), and one line that says so, where none can be had.
set -euo pipefail
cd "$(dirname "$0")/../.."

docker info >/dev/null 2>&1 && exit 0
starter=../shared/tools/docker-up
if [ -x "$starter" ]; then
  "$starter" >&2
  exit
fi
echo "no Docker engine answers and none can be started here" >&2
exit 69
