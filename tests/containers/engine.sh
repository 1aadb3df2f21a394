#!/usr/bin/env bash
# Make sure that a Docker engine answers. Exit status 69 (unavailable), and one line that says so, where none can be had.
set -euo pipefail
cd "$(dirname "$0")/../.."

# A starter knows what is missing, also when one that was interrupted left an engine without its images.
starter=../shared/tools/docker-up
if [ -x "$starter" ]; then
  "$starter" >&2
  exit
fi
docker info >/dev/null 2>&1 && exit 0
echo "no Docker engine answers and none can be started here" >&2
exit 69
