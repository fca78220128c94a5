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
    wait_ready mariadb 120 sql_ready mariadb || return 1
    sql_write_env mariadb MARIADB "$port"
}

mariadb_install()
{
    # shellcheck disable=SC2046 # no user option at all where not root
    timeout 120 mariadb-install-db --no-defaults $(sql_user_option) --datadir="$1" \
        --auth-root-authentication-method=normal --skip-test-db
}

mariadb_up()
{
    need mariadbd mariadb
    need mariadb-install-db mariadb
    need mariadb mariadb
    sql_up mariadb
}

mariadb_down() { stop_process mariadb 40; }
mariadb_address() { echo "127.0.0.1:$(<"$STACK_DIR/mariadb/port")"; }
