#!/bin/sh
# A nightly sync for cron. It prints only when somebody should look, so that cron's mail is worth reading:
#
#   15 6 * * *  SIDELINE_USERNAME=... SIDELINE_SECRET=... /path/to/nightly.sh /data/season 2026-09-01
#
# Exit status: that of `sideline sync`. 0 complete, 1 error, 3 incomplete, 4 complete with unknown fields.
set -u
archive=${1:?the folder or bucket of the archive}
start=${2:?the first day of the season, such as 2026-09-01}

output=$(sideline sync "$archive" --from "$start" 2>&1)
status=$?
if [ "$status" -ne 0 ]; then
  printf '%s\n' "$output"
fi
# The page shows the holes; the report's own status repeats that there are some.
sideline report "$archive" -o "${archive##*/}.html" >/dev/null
[ "$?" -ne 1 ] || exit 1
exit "$status"
