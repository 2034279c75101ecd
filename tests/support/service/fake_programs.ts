/**
 * Stand-ins for the programs that manage services, which no container has running. They note their
 * calls in `$HOME/state/calls`, and keep what they know beside it; only builtins of the shell are used.
 */

const HEAD = `#!/bin/sh
state="$HOME/state"
echo "\${0##*/} $*" >> "$state/calls"
show() { while IFS= read -r line || [ -n "$line" ]; do echo "$line"; done < "$1"; }
`;

/** Says what `state/no-bus` holds, as if there were no session. */
export const SYSTEMCTL = `${HEAD}
case "$*" in
  "--user show --property=Version")
    [ -s "$state/no-bus" ] && { show "$state/no-bus" >&2; exit 1; }
    echo Version=252 ;;
  "--user restart "*)
    [ -s "$state/broken" ] && { show "$state/broken" >&2; exit 1; }
    printf '%s\\n' LoadState=loaded ActiveState=active SubState=running MainPID=4711 \\
      Result=success ExecMainStatus=0 'StateChangeTimestamp=Mon 2026-11-23 02:00:00 UTC' > "$state/unit" ;;
  "--user disable "*)
    printf '%s\\n' LoadState=loaded ActiveState=inactive > "$state/unit" ;;
  "--user show smcp-"*) show "$state/unit" ;;
esac
exit 0
`;

/** Prints what a hostile program could have logged. */
export const JOURNALCTL = `${HEAD}
printf 'joined office demo\\n\\033[2Jcleared\\n'
`;

/** Unloads a service only while it is asked about it the second time, like the real one. */
export const LAUNCHCTL = `${HEAD}
case "$1 $2" in
  "print gui/1000")
    [ -s "$state/no-session" ] && exit 125
    exit 0 ;;
  "print "*)
    if [ -s "$state/leaving" ]; then
      [ -s "$state/left" ] && { : > "$state/leaving"; : > "$state/left"; : > "$state/job"; exit 113; }
      echo 1 > "$state/left"
    fi
    [ -s "$state/job" ] || exit 113
    show "$state/job" ;;
  "bootout "*) echo 1 > "$state/leaving" ;;
  "bootstrap "*)
    [ -s "$state/job" ] && { echo "Bootstrap failed: 5: Input/output error" >&2; exit 5; }
    printf 'gui/1000/smcp = {\\n\\tstate = running\\n\\tpid = 4711\\n\\t\\tstate = active\\n\\tlast exit code = (never exited)\\n}\\n' > "$state/job" ;;
esac
exit 0
`;

/** Tells when a process was started. */
export const PS = `${HEAD}
echo 'Mon Nov 23 02:00:00 2026'
`;
