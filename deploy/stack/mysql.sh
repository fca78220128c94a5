# shellcheck shell=bash
# mysql.sh - a private Oracle MySQL
#
# Debian 12 has no MySQL server; Debian sid has one.  Its files are unpacked into a folder
# of their own (debootstrap, which needs root) and the server runs from there as a normal
# process with its own dynamic loader: no mounts, no chroot at run time.
#
# SPDX-License-Identifier: MIT

MYSQL_TREE=$STACK_CACHE/mysql/root

# A complete sid tree with the server, or exit 77 with the reason.
mysql_tree()
{
    [ ! -e "$MYSQL_TREE/.complete" ] || return 0
    [ "$(id -u)" -eq 0 ] || skip "MySQL comes from Debian sid by debootstrap, which needs root"
    PATH=$PATH:/usr/sbin:/sbin
    have debootstrap || skip "debootstrap is missing; run: deploy/stack/install mysql"
    mkdir -p "$STACK_CACHE/mysql"
    (
        exec 8>"$STACK_CACHE/mysql.lock"
        flock -w 900 8 || die "another script holds $STACK_CACHE/mysql.lock for 15 minutes"
        [ ! -e "$MYSQL_TREE/.complete" ] || exit 0
        say "mysql: unpacking the server of Debian sid (once, 560 MB, about a minute)"
        rm -rf "$MYSQL_TREE"
        retry 3 mysql_debootstrap || {
            show_log "$STACK_CACHE/mysql/debootstrap.log"
            skip "Debian sid could not be fetched, so there is no MySQL server to test with"
        }
        touch "$MYSQL_TREE/.complete"
    ) || exit $?
}

mysql_debootstrap()
{
    rm -rf "$MYSQL_TREE"
    timeout 420 debootstrap --variant=minbase --include=mysql-server-core sid "$MYSQL_TREE" \
        </dev/null >"$STACK_CACHE/mysql/debootstrap.log" 2>&1 &&
        [ -x "$MYSQL_TREE/usr/sbin/mysqld" ]
}

# The command line that runs the server of the tree: loader, libraries, server, files.
mysql_command()
{
    local loader
    loader=$(echo "$MYSQL_TREE"/lib64/ld-linux-*.so.* "$MYSQL_TREE"/lib/ld-linux-*.so.*)
    for loader in $loader; do
        [ ! -e "$loader" ] || break
    done
    MYSQL_RUN=("$loader" --inhibit-cache
        --library-path "$(echo "$MYSQL_TREE"/usr/lib/*-linux-gnu):$MYSQL_TREE/usr/lib/mysql/private"
        "$MYSQL_TREE/usr/sbin/mysqld" --no-defaults --basedir="$MYSQL_TREE/usr"
        --datadir="$STACK_DIR/mysql/data" --secure-file-priv=
        --lc-messages-dir="$MYSQL_TREE/usr/share/mysql"
        --character-sets-dir="$MYSQL_TREE/usr/share/mysql/charsets"
        --plugin-dir="$MYSQL_TREE/usr/lib/mysql/plugin")
    [ "$(id -u)" -ne 0 ] || MYSQL_RUN+=(--user=root)
}

mysql_start_once()
{
    local dir=$STACK_DIR/mysql port
    port=$(keep_port "$dir/port")
    : >"$dir/log"
    start_process mysql "${MYSQL_RUN[@]}" --socket="$(socket_path mysql)" --port="$port" \
        --bind-address=127.0.0.1 --mysqlx=OFF --pid-file="$dir/server.pid" \
        --skip-name-resolve --disable-log-bin --performance-schema=OFF \
        --innodb-buffer-pool-size=512M --innodb-redo-log-capacity=256M --max-connections=300
    wait_ready mysql 90 sql_ready mysql || return 1
    sql_write_env mysql MYSQL "$port"
}

mysql_install()
{
    timeout 180 "${MYSQL_RUN[@]}" --initialize-insecure
}

mysql_up()
{
    mysql_tree
    need mariadb mariadb
    mysql_command
    sql_up mysql
}

mysql_down() { stop_process mysql 60; }
mysql_address() { echo "127.0.0.1:$(<"$STACK_DIR/mysql/port")"; }
