# shellcheck shell=bash
# common.sh - what all stack scripts share: folders, ports, processes, waiting
#
# A service lives in $STACK_DIR/<name>/: data, log, pid, port and its part of the
# environment (env).  Downloads are shared by all stacks in $STACK_CACHE.
#
# SPDX-License-Identifier: MIT

STACK_SELF=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
STACK_ROOT=$(cd -- "$STACK_SELF/../.." && pwd)
# Paths are resolved once: mysqld and mariadbd change their working directory.
STACK_DIR=$(realpath -m -- "${STACK_DIR:-$STACK_ROOT/build/stack}")
STACK_CACHE=$(realpath -m -- "${STACK_CACHE:-$STACK_ROOT/build/cache}")
# 77 is what make and automake call "skipped".
EXIT_SKIPPED=77

say() { printf '%s\n' "$*"; }
warn() { printf '%s\n' "$*" >&2; }
die()
{
    warn "stack: $*"
    exit 1
}
skip()
{
    warn "SKIPPED: $*"
    exit "$EXIT_SKIPPED"
}

have() { command -v "$1" >/dev/null 2>&1; }

# need PROGRAM LEVEL: stop with the remedy where a program is missing.
need()
{
    PATH=$PATH:/usr/sbin:/sbin
    have "$1" || die "the program $1 is missing; run: deploy/stack/install $2"
}

# The log's end, so that a failure explains itself.
show_log()
{
    [ -s "$1" ] || return 0
    warn "--- last lines of $1"
    tail -n "${2:-25}" "$1" >&2
    warn "---"
}

# true when nobody listens on the port (reads the kernel's table, opens nothing)
port_is_free()
{
    local hex
    printf -v hex ':%04X' "$1"
    ! awk -v p="$hex" '$4 == "0A" && substr($2, length($2) - 4) == p { found = 1 }
                       END { exit !found }' /proc/net/tcp /proc/net/tcp6 2>/dev/null
}

# A free port below the range that the kernel hands to clients.  Two stacks that choose
# at the same moment may collide; starting a service tries again with another port.
free_port()
{
    local port i
    for i in {1..200}; do
        port=$((10240 + (RANDOM * 32768 + RANDOM) % 20000))
        if port_is_free "$port"; then
            echo "$port"
            return 0
        fi
    done
    die "no free TCP port found on 127.0.0.1 in $i tries"
}

# The port of an earlier run when it is still free (clients may go on using it), else a
# new one.  keep_port FILE
keep_port()
{
    local port
    if [ -s "$1" ] && port=$(<"$1") && port_is_free "$port"; then
        echo "$port"
    else
        free_port | tee "$1"
    fi
}

# pid_of NAME: prints the pid when that process runs and is ours (its command line or its
# working folder names our folder; a recycled pid does not).
pid_of()
{
    local dir=$STACK_DIR/$1 pid
    [ -s "$dir/pid" ] || return 1
    pid=$(<"$dir/pid")
    [ -r "/proc/$pid/cmdline" ] || return 1
    tr '\0' ' ' <"/proc/$pid/cmdline" | grep -qF -- "$dir/" || return 1
    echo "$pid"
}

# start_process NAME COMMAND...: run detached from the terminal, from make's job server
# and from every other descriptor of the caller; the pid goes to the pid file.
start_process()
{
    local dir=$STACK_DIR/$1 fd
    shift
    (
        for fd in /proc/self/fd/*; do
            fd=${fd##*/}
            if [ "$fd" -gt 2 ]; then
                eval "exec $fd>&-" 2>/dev/null || true
            fi
        done
        cd "$dir"
        # setsid in a background child does not fork again: $! is the service itself
        setsid "$@" </dev/null >>"$dir/log" 2>&1 &
        echo $! >"$dir/pid"
    ) </dev/null >/dev/null 2>&1
}

# wait_ready NAME SECONDS COMMAND...: until the command succeeds.
# 1: the process ended; 2: it lives but did not answer in time.
wait_ready()
{
    local name=$1 deadline=$((SECONDS + $2))
    shift 2
    while ! "$@" >/dev/null 2>&1; do
        pid_of "$name" >/dev/null || return 1
        [ "$SECONDS" -lt "$deadline" ] || return 2
        sleep 0.1
    done
}

# wait_gone PID: a process that ends loses its command line before its files and ports, and
# its main thread may be through before the others are; a zombie holds nothing.
wait_gone()
{
    local pid=$1 tasks i
    for ((i = 0; i < 500; i++)); do
        tasks=("/proc/$pid/task/"*)
        if [ ! -e "/proc/$pid/stat" ] ||
            { [ "${#tasks[@]}" -eq 1 ] && grep -q ') Z ' "/proc/$pid/stat" 2>/dev/null; }; then
            return 0
        fi
        sleep 0.02
    done
    return 1
}

# stop_process NAME SECONDS: SIGTERM, wait, SIGKILL; only the process of our pid file.
stop_process()
{
    local name=$1 deadline=$((SECONDS + $2)) pid
    pid=$(pid_of "$name") || {
        rm -f "$STACK_DIR/$name/pid"
        return 0
    }
    kill -CONT "$pid" 2>/dev/null || true
    kill -TERM "$pid" 2>/dev/null || true
    while pid_of "$name" >/dev/null; do
        if [ "$SECONDS" -ge "$deadline" ]; then
            warn "stack: $name did not end in $2 s after SIGTERM; killing pid $pid"
            kill -KILL "$pid" 2>/dev/null || true
            deadline=$((SECONDS + 10))
        fi
        sleep 0.05
    done
    wait_gone "$pid" || warn "stack: $name, pid $pid, still holds what it had"
    rm -f "$STACK_DIR/$name/pid"
}

# socket_path NAME: a path that fits into sun_path (107 bytes) whatever the folder is.
socket_path()
{
    local path=$STACK_DIR/$1/s.sock link=$STACK_DIR/$1/socket-dir
    if [ ${#path} -lt 100 ]; then
        echo "$path"
        return 0
    fi
    if [ ! -s "$link" ] || [ ! -d "$(<"$link")" ]; then
        mktemp -d "${TMPDIR:-/tmp}/bpmflow-$1-XXXXXX" >"$link"
    fi
    echo "$(<"$link")/s.sock"
}

# Retry a download: retry TIMES COMMAND...
retry()
{
    local times=$1 i
    shift
    for ((i = 1; i <= times; i++)); do
        "$@" && return 0
        [ "$i" -eq "$times" ] || {
            warn "stack: try $i of $times failed: ${*: -3}; trying again"
            sleep $((i * 3))
        }
    done
    return 1
}

# mysqld and mariadbd refuse to run as root unless they are told to.
sql_user_option() { [ "$(id -u)" -ne 0 ] || echo "--user=root"; }

# sql_admin NAME ARGS...: the client as root on the socket of a running service.
sql_admin()
{
    local name=$1
    shift
    mariadb --no-defaults --protocol=socket --socket="$(socket_path "$name")" -uroot \
        --connect-timeout=5 --batch --skip-column-names "$@"
}

# sql_ready NAME: answers by its socket and its port is the one we chose
sql_ready() { timeout 10 bash -c '. "$0/common.sh"; sql_admin "$1" -e "SELECT 1"' "$STACK_SELF" "$1"; }

# create_database NAME DATABASE: empty, with the character set that the tables use.
create_database()
{
    case $2 in
    '' | *[!A-Za-z0-9_]*) die "'$2' is no database name: letters, digits and _ only" ;;
    esac
    timeout 60 bash -c '. "$0/common.sh"; sql_admin "$1" -e "
        DROP DATABASE IF EXISTS $2;
        CREATE DATABASE $2 CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"' \
        "$STACK_SELF" "$1" "$2" || die "database $2 could not be created on $1"
}

# After the first start: the user and the database that tests use.
sql_create_account()
{
    sql_admin "$1" -e "
        CREATE USER IF NOT EXISTS bpmflow@'%' IDENTIFIED BY 'bpmflow';
        CREATE USER IF NOT EXISTS bpmflow@localhost IDENTIFIED BY 'bpmflow';
        GRANT ALL PRIVILEGES ON *.* TO bpmflow@'%' WITH GRANT OPTION;
        GRANT ALL PRIVILEGES ON *.* TO bpmflow@localhost WITH GRANT OPTION;
        CREATE DATABASE IF NOT EXISTS bpmflow CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;"
}

# sql_write_env NAME PREFIX PORT
sql_write_env()
{
    cat >"$STACK_DIR/$1/env" <<END
export BF_$2_HOST=127.0.0.1
export BF_$2_PORT=$3
export BF_$2_SOCKET='$(socket_path "$1")'
export BF_$2_USER=bpmflow
export BF_$2_PASSWORD=bpmflow
export BF_$2_DB=bpmflow
END
}

# sql_up NAME: data by NAME_install, once; the server by NAME_start_once, up to three times
sql_up()
{
    local name=$1 dir=$STACK_DIR/$1 try
    mkdir -p "$dir"
    if pid_of "$name" >/dev/null && [ -s "$dir/env" ] && sql_ready "$name" >/dev/null 2>&1; then
        return 0
    fi
    stop_process "$name" 40
    if [ ! -e "$dir/complete" ]; then
        rm -rf "$dir/data"
        "${name}_install" "$dir/data" >"$dir/install.log" 2>&1 || {
            show_log "$dir/install.log"
            die "$name: the data folder $dir/data could not be set up"
        }
    fi
    for try in 1 2 3; do
        if "${name}_start_once"; then
            [ -e "$dir/complete" ] || {
                sql_create_account "$name" || die "$name: the account could not be created"
                touch "$dir/complete"
            }
            return 0
        fi
        stop_process "$name" 10
        # once more where clients expect it, then at another port
        [ "$try" -lt 2 ] || rm -f "$dir/port"
        warn "stack: $name did not come up (try $try of 3)"
    done
    show_log "$dir/log"
    die "$name did not start; its log is $dir/log"
}
