#!/usr/bin/env bash
# Make sure that there is a Chromium. Exit status 69 (unavailable), and one line that says so, where none can be had.
set -euo pipefail
command -v chromium >/dev/null && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends chromium; } >&2 || true
  command -v chromium >/dev/null && exit 0
fi
echo "there is no chromium here and none can be installed: as root, apt-get install chromium" >&2
exit 69
