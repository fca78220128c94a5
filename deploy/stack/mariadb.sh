# shellcheck shell=bash
# mariadb.sh - a private MariaDB from Debian's packages
#
# SPDX-License-Identifier: MIT

mariadb_start_once()
{
    local dir=$STACK_DIR/mariadb port
    port=$(keep_port "$dir/port")
    : >"$dir/log"
    # shellcheck disable=SC2046 # no user option at all where not root
    start_process mariadb "$(command -v mariadbd)" --no-defaults $(sql_user_option) \
        --datadir="$dir/data" --socket="$(socket_path mariadb)" --port="$port" \
        --bind-address=127.0.0.1 --pid-file="$dir/server.pid" --skip-name-resolve \
        --innodb-buffer-pool-size=512M --innodb-log-file-size=256M --max-connections=300 \
        --character-set-server=utf8mb4
    wait_ready mariadb 60 sql_ready mariadb || return 1
    sql_write_env mariadb MARIADB "$port"
}

mariadb_up()
{
    local dir=$STACK_DIR/mariadb try
    need mariadbd mariadb
    need mariadb-install-db mariadb
    need mariadb mariadb
    mkdir -p "$dir"
    if pid_of mariadb >/dev/null && [ -s "$dir/env" ] && sql_ready mariadb >/dev/null 2>&1; then
        return 0
    fi
    stop_process mariadb 30
    if [ ! -e "$dir/complete" ]; then
        rm -rf "$dir/data"
        # shellcheck disable=SC2046
        timeout 120 mariadb-install-db --no-defaults $(sql_user_option) --datadir="$dir/data" \
            --auth-root-authentication-method=normal --skip-test-db >"$dir/install.log" 2>&1 || {
            show_log "$dir/install.log"
            die "mariadb: the data folder $dir/data could not be set up"
        }
    fi
    for try in 1 2 3; do
        if mariadb_start_once; then
            [ -e "$dir/complete" ] || {
                sql_create_account mariadb || die "mariadb: the account could not be created"
                touch "$dir/complete"
            }
            return 0
        fi
        stop_process mariadb 10
        # once more where clients expect it, then at another port
        [ "$try" -lt 2 ] || rm -f "$dir/port"
        warn "stack: mariadb did not come up (try $try of 3)"
    done
    show_log "$dir/log"
    die "mariadb did not start; its log is $dir/log"
}

mariadb_down() { stop_process mariadb 40; }
mariadb_address() { echo "127.0.0.1:$(<"$STACK_DIR/mariadb/port")"; }
