"""What the system tests are made of: the stack, worker processes, the command line tool,
the driver that sends commands, and questions to the database.

Python's standard library only.  Everything of one test lies in its own folder, its topics
and its database have its own names, and whatever it has started is ended with it.

SPDX-License-Identifier: MIT
"""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
STACK = ROOT / "deploy" / "stack" / "stack"
TOPICS = ROOT / "deploy" / "stack" / "topics"
GRAPHS = ROOT / "tests" / "data" / "system"
# The system tests run the build with fault points; it differs in nothing else.
BUILD = Path(os.environ.get("BF_SYSTEM_BUILD", ROOT / "build-faults"))


class Failure(Exception):
    """What a test expected and what came."""


class Skipped(Exception):
    """The test cannot be run here, and why."""


def check(condition, text):
    if not condition:
        raise Failure(text)


def equal(got, wanted, what):
    if got != wanted:
        raise Failure(f"{what}: expected {wanted!r}, got {got!r}")


def wait_for(what, seconds, condition, pause=0.05):
    """Ask until it is true; there is no sleeping for a fixed time anywhere."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() >= deadline:
            raise Failure(f"{what}: not within {seconds} s")
        time.sleep(pause)


def run(command, seconds=60, env=None, check_status=True, cwd=None):
    done = subprocess.run(
        [str(part) for part in command], stdin=subprocess.DEVNULL, capture_output=True,
        text=True, timeout=seconds, env={**os.environ, **(env or {})}, cwd=cwd, check=False)
    if check_status and done.returncode != 0:
        words = " ".join(str(part) for part in command)
        raise Failure(f"{words}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
    return done


class Stack:
    """Private services; those that did not run before are stopped at the end."""

    def __init__(self):
        self.started = []
        self.env = {}

    def need(self, *services):
        for service in services:
            running = run([STACK, "status", service], check_status=False).returncode == 0
            if not running:
                done = run([STACK, "up", service], seconds=900, check_status=False)
                if done.returncode == 77:
                    raise Skipped(done.stderr.strip().splitlines()[-1])
                if done.returncode != 0:
                    raise Failure(f"{service} does not start:\n{done.stdout}{done.stderr}")
                self.started.append(service)
        folder = Path(os.environ.get("STACK_DIR", ROOT / "build" / "stack"))
        for line in (folder / "env").read_text().splitlines():
            match = re.match(r"export (\w+)='?([^']*)'?$", line)
            if match:
                self.env[match.group(1)] = match.group(2)

    def signal(self, what, service):
        run([STACK, what, service])

    def up(self, service):
        run([STACK, "up", service], seconds=600)

    def down(self, service):
        run([STACK, "down", service], seconds=120)

    def stop(self):
        if self.started and not os.environ.get("KEEP"):
            run([STACK, "down", *self.started], seconds=200, check_status=False)


class Database:
    """An empty database of a test's own, on MariaDB or MySQL."""

    def __init__(self, stack, server, name):
        self.server = server
        prefix = "BF_" + server.upper() + "_"
        self.host = stack.env[prefix + "HOST"]
        self.port = stack.env[prefix + "PORT"]
        self.socket = stack.env[prefix + "SOCKET"]
        self.user = stack.env[prefix + "USER"]
        self.password = stack.env[prefix + "PASSWORD"]
        self.name = re.sub(r"\W", "_", name)
        run([STACK, "database", server, self.name], seconds=90)

    def rows(self, sql):
        """Rows as lists of text."""
        done = run(["mariadb", "--no-defaults", "--socket=" + self.socket, "-uroot",
                    "--batch", "--skip-column-names", self.name, "-e", sql], seconds=120)
        return [line.split("\t") for line in done.stdout.splitlines()]

    def number(self, sql):
        return int(self.rows(sql)[0][0])

    @contextlib.contextmanager
    def session(self, sql):
        """Statements that run in the background; ended with the block."""
        process = subprocess.Popen(
            ["mariadb", "--no-defaults", "--socket=" + self.socket, "-uroot", self.name, "-e",
             sql], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        try:
            yield
        finally:
            process.kill()
            process.wait(30)
            # The server goes on with a statement whose client is gone.
            for row in self.rows("SELECT id FROM information_schema.processlist WHERE "
                                 "user = 'root' AND info LIKE 'SELECT SLEEP%'"):
                self.rows(f"KILL {row[0]}")

    def checksum(self, *tables):
        """A value that changes with any byte of any row."""
        total = []
        for table in tables:
            total.append(self.rows(f"CHECKSUM TABLE {table} EXTENDED")[0][1])
        return total


class Worker:
    """One process of bpmflow-worker with its configuration and its log."""

    def __init__(self, test, name, shards, settings):
        self.test = test
        self.name = name
        self.config = test.folder / f"{name}.conf"
        self.log = test.folder / f"{name}.log"
        self.address = test.folder / f"{name}.admin"
        self.process = None
        self.env = {}
        self.settings = {"worker.id": name, "worker.shards": shards, **settings}

    def write_config(self):
        groups = {}
        for key, value in self.settings.items():
            group, name = key.split(".", 1)
            groups.setdefault(group, []).append(f"  {name} = {libconfig(value)};")
        text = "".join(f"{group} = {{\n" + "\n".join(lines) + "\n};\n"
                       for group, lines in groups.items())
        self.config.write_text(text)

    def start(self, fault=None, ready=60):
        self.settings["admin.port"] = free_port()
        self.write_config()
        env = {**os.environ, **self.env}
        env.pop("BF_FAULT", None)
        if fault:
            env["BF_FAULT"] = fault
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [str(BUILD / "bin" / "bpmflow-worker"), "-c", str(self.config)],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=env)
        if ready:
            wait_for(f"{self.name} is ready", ready, self.is_ready)
        return self

    def is_ready(self):
        if self.process.poll() is not None:
            raise Failure(f"{self.name} ended at start with {self.process.returncode}:\n"
                          f"{tail(self.log)}")
        return self.http("/readyz") is not None

    def http(self, path):
        """The body, or None when it is not answered with 200."""
        url = f"http://127.0.0.1:{self.settings['admin.port']}{path}"
        try:
            with urllib.request.urlopen(url, timeout=5) as answer:
                return answer.read().decode()
        except (urllib.error.URLError, OSError):
            return None

    def send(self, number):
        self.process.send_signal(number)

    def wait(self, seconds=60):
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise Failure(f"{self.name} does not end within {seconds} s:\n"
                          f"{tail(self.log)}") from None

    def terminate(self, seconds=60):
        """SIGTERM; the exit status must be 0."""
        self.send(signal.SIGTERM)
        equal(self.wait(seconds), 0, f"exit status of {self.name} after SIGTERM")

    def kill(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait(30)


class Driver:
    """The program that sends commands and counts replies, running in the background."""

    def __init__(self, test, name, **options):
        self.test = test
        self.progress_file = test.folder / f"{name}.progress"
        self.out = test.folder / f"{name}.out"
        self.rejections = test.folder / f"{name}.rejections"
        command = [str(ROOT / "build" / "tests" / "system" / "driver"),
                   "--brokers", test.stack.env["BF_KAFKA"],
                   "--commands", test.topics["commands"],
                   "--replies", test.topics["replies"],
                   "--progress", str(self.progress_file),
                   "--rejections", str(self.rejections)]
        for key, value in options.items():
            command.append("--" + key.replace("_", "-"))
            if value is not True:
                command.append(str(value))
        self.seconds = int(options.get("seconds", 120))
        with open(self.out, "wb") as out:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out,
                                            stderr=subprocess.STDOUT)
        test.processes.append(self.process)

    def progress(self):
        try:
            return int(self.progress_file.read_text() or 0)
        except (OSError, ValueError):
            return 0

    def wait_progress(self, count):
        def reached():
            check(self.process.poll() is None or self.progress() >= count,
                  f"the driver ended early: {self.text()}")
            return self.progress() >= count
        wait_for(f"{count} replies", self.seconds, reached)

    def text(self):
        return self.out.read_text(errors="replace")

    def result(self):
        """Counts of a run in which everything was as expected."""
        status = self.process.wait(self.seconds + 60)
        lines = self.text().splitlines()
        check(lines and lines[-1].startswith("{"), f"the driver said: {self.text()}")
        counts = json.loads(lines[-1])
        if status != 0:
            raise Failure(f"replies are not as expected: {counts}\nfirst rejections:\n"
                          f"{tail(self.rejections, 5)}")
        return counts


class Test:
    """What one test uses; close() ends what is left."""

    def __init__(self, name, folder, stack):
        self.name = name
        self.folder = folder
        self.stack = stack
        self.processes = []
        self.workers = []
        self.topics = {}
        self.database = None
        # Unique, so that a test can be run again on the same stack.
        self.tag = f"{name}.{int(time.time() * 1000) % 10**9}"

    def use(self, server, partitions=8):
        self.stack.need("kafka", server)
        for kind in ("commands", "replies", "events", "dead-letters"):
            self.topics[kind] = f"{self.tag}.{kind}"
        run([TOPICS, "--bootstrap", self.stack.env["BF_KAFKA"], "--partitions", partitions,
             *self.topics.values()], seconds=120)
        self.database = Database(self.stack, server, self.tag)
        self.cli("migrate")

    def settings(self):
        return {
            "kafka.brokers": self.stack.env["BF_KAFKA"],
            "kafka.group": self.tag,
            "kafka.commands_topic": self.topics["commands"],
            "events.topic": self.topics["events"],
            "replies.topic": self.topics["replies"],
            "dead_letters.topic": self.topics["dead-letters"],
            "mysql.host": self.database.host,
            "mysql.port": int(self.database.port),
            "mysql.user": self.database.user,
            "mysql.password": self.database.password,
            "mysql.database": self.database.name,
            "graphs.paths": [str(GRAPHS)],
            "log.stats_interval_ms": 5000,
        }

    def worker(self, name, shards=2, **settings):
        extra = {key.replace("__", "."): value for key, value in settings.items()}
        worker = Worker(self, name, shards, {**self.settings(), **extra})
        self.workers.append(worker)
        return worker

    def driver(self, name, **options):
        return Driver(self, name, **options)

    def cli(self, *words, status=0, seconds=120):
        """The command line tool with the addresses of this test."""
        env = {
            "BPMFLOW_BROKERS": self.stack.env["BF_KAFKA"],
            "BPMFLOW_COMMAND_TOPIC": self.topics["commands"],
            "BPMFLOW_REPLY_TOPIC": self.topics["replies"],
            "BPMFLOW_EVENT_TOPIC": self.topics["events"],
            "BPMFLOW_DEAD_LETTER_TOPIC": self.topics["dead-letters"],
            "BPMFLOW_GROUP": self.tag,
            "BPMFLOW_DB_HOST": self.database.host,
            "BPMFLOW_DB_PORT": self.database.port,
            "BPMFLOW_DB_USER": self.database.user,
            "BPMFLOW_DB_PASSWORD": self.database.password,
            "BPMFLOW_DB_NAME": self.database.name,
        }
        done = run([BUILD / "bin" / "bpmflow", *words], seconds=seconds, env=env,
                   check_status=False)
        with open(self.folder / "cli.log", "a", encoding="utf-8") as log:
            log.write(f"$ bpmflow {' '.join(map(str, words))}\n{done.stdout}{done.stderr}"
                      f"exit status {done.returncode}\n")
        if status is not None and done.returncode != status:
            raise Failure(f"bpmflow {' '.join(map(str, words))}: exit status "
                          f"{done.returncode}, expected {status}\n{done.stdout}{done.stderr}")
        return done.stdout

    def delete_topics(self):
        """A broker that has to open hundreds of them starts slowly."""
        if self.topics:
            run([TOPICS, "--bootstrap", self.stack.env["BF_KAFKA"], "--delete",
                 *self.topics.values()], seconds=180, check_status=False)

    def close(self):
        for worker in self.workers:
            worker.kill()
        for process in self.processes:
            if process.poll() is None:
                process.kill()
                process.wait(30)


def libconfig(value):
    """A value as libconfig writes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, (list, tuple)):
        return "[ " + ", ".join(libconfig(item) for item in value) + " ]"
    return '"' + str(value).replace("\\", "\\\\").replace('"', '\\"') + '"'


def free_port():
    """A port below the range of clients that nobody listens on."""
    listening = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            for line in Path(table).read_text().splitlines()[1:]:
                listening.add(int(line.split()[1].rsplit(":", 1)[1], 16))
        except OSError:
            pass
    seed = int.from_bytes(os.urandom(4), "little")
    for i in range(1000):
        port = 10240 + (seed + i * 7919) % 20000
        if port not in listening:
            return port
    raise Failure("no free port")


def tail(path, lines=30):
    try:
        text = Path(path).read_text(errors="replace").splitlines()
    except OSError:
        return "(no such file)"
    return "\n".join(text[-lines:])


def note(text):
    print("     " + text, flush=True)


def fail(text):
    print(text, file=sys.stderr)
