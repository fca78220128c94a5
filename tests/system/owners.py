"""System tests of partitions that change their owner at bad moments: with a batch in
flight, inside of a transaction of the database or of Kafka, by a process that wakes again.

Fault points put the process at the moment; see include/bpmflow/fault.h.

SPDX-License-Identifier: MIT
"""

import re
import signal
import time
from pathlib import Path

from harness import ROOT, check, equal, note, run, wait_for

INSTANCES = 200
TASKS = 5
COMMANDS = INSTANCES * (1 + 2 * TASKS)
SESSION_MS = 6000

# Run by make check-owners only: most of their time is waiting for session time-outs.
LONG = ("assignment_lost", "zombie_in_database_transaction", "zombie_in_kafka_transaction",
        "broker_killed_in_transaction", "wrong_clocks", "back_pressure", "purge_mysql")


def begin(test, prefix, seconds=180):
    """Topics, tables, and the driver that is started once a worker runs."""
    test.use("mariadb", partitions=4)
    return lambda: test.driver("driver", graph="five", prefix=prefix, instances=INSTANCES,
                               tasks=TASKS, window=300, seconds=seconds)


def finish(test, driver):
    """Every command has one reply, rows and events agree."""
    equal(driver.result()["answered"], COMMANDS, "commands with a reply")
    db = test.database
    equal(db.number("SELECT COUNT(*) FROM bpm_flow_task"), INSTANCES * TASKS, "rows")
    equal(db.number("SELECT COUNT(*) FROM bpm_flow_repository WHERE status = 1"), INSTANCES,
          "completed instances")
    test.cli("verify", seconds=120)


def said(worker, text):
    return text in worker.log.read_text(errors="replace")


def is_stopped(worker):
    """SIGSTOP has arrived (the fault point sends it to its own process)."""
    status = Path(f"/proc/{worker.process.pid}/stat").read_text()
    return status.rsplit(")", 1)[1].split()[0] == "T"


def test_revoke_in_flight(test):
    """A second worker joins while a batch of the first is in its database transaction."""
    start = begin(test, "flight")
    first = test.worker("w1", shards=1).start(fault="store.before_commit:6:sleep:4000")
    driver = start()
    driver.wait_progress(20)
    second = test.worker("w2", shards=1).start()
    finish(test, driver)
    check(said(first, "partitions are given up"), "the first worker was not asked for partitions")
    first.terminate()
    second.terminate()


def test_revoke_while_waiting(test):
    """A batch that waits for the database is abandoned when its partitions are revoked."""
    start = begin(test, "waiting")
    first = test.worker("w1", shards=1).start()
    driver = start()
    driver.wait_progress(100)
    # Somebody holds the offset rows: commits wait for them, time out and are tried again.
    with test.database.session("START TRANSACTION; SELECT COUNT(*) FROM (SELECT 1 FROM "
                               "bpm_flow_offset FOR UPDATE) t; SELECT SLEEP(60)"):
        wait_for("the first worker tries again", 60,
                 lambda: re.search(r" retries=[1-9]", first.log.read_text()))
        begun = time.monotonic()
        second = test.worker("w2", shards=1).start(ready=None)
        wait_for("the partitions are revoked", 30,
                 lambda: said(first, "partitions are given up"))
        note(f"given up {time.monotonic() - begun:.1f} s after the start of the other worker")
    finish(test, driver)
    first.terminate()
    second.terminate()


def test_assignment_lost(test):
    """A worker that is thrown out of the group with a batch in flight does no harm."""
    start = begin(test, "lost")
    first = test.worker("w1", shards=1, kafka__session_timeout_ms=SESSION_MS,
                        kafka__consumer_properties=["max.poll.interval.ms=6000"]).start(
                            fault="store.before_commit:6:sleep:12000")
    driver = start()
    driver.wait_progress(20)
    second = test.worker("w2", shards=1).start()
    finish(test, driver)
    first.terminate()
    second.terminate()


def zombie(test, point):
    """A worker stops at a fault point; another one takes over; then the first wakes."""
    start = begin(test, "zombie")
    first = test.worker("w1", shards=1, kafka__session_timeout_ms=SESSION_MS).start(
        fault=f"{point}:6:stop")
    driver = start()
    wait_for(f"w1 stops at {point}", 60, lambda: is_stopped(first))
    second = test.worker("w2", shards=1, kafka__session_timeout_ms=SESSION_MS).start()
    reached = driver.progress()
    driver.wait_progress(reached + 200)
    first.send(signal.SIGCONT)
    finish(test, driver)
    wait_for("w1 works again", 60, lambda: first.http("/readyz") is not None)
    first.terminate()
    second.terminate()


def test_zombie_in_database_transaction(test):
    """Stopped before COMMIT, with the offset row locked; wakes after the take-over."""
    zombie(test, "store.before_commit")


def test_zombie_between_commits(test):
    """Stopped between the two commits; its events are published by the next owner only."""
    zombie(test, "store.after_commit")


def test_zombie_in_kafka_transaction(test):
    """Stopped with offsets and events sent; the next owner ends its transaction."""
    zombie(test, "publish.before_commit")


def test_takeover_without_waiting(test):
    """An open transaction of a dead owner is ended at once, not after its time-out."""
    start = begin(test, "now")
    long_ms = 300000
    settings = {"kafka__session_timeout_ms": SESSION_MS, "kafka__transaction_timeout_ms": long_ms}
    dies = test.worker("w1", shards=1, **settings).start(fault="publish.before_commit:6:kill")
    driver = start()
    equal(dies.wait(60), -9, "exit status of the worker that dies")
    begun = time.monotonic()
    lives = test.worker("w2", shards=1, **settings).start()
    finish(test, driver)
    seconds = time.monotonic() - begun
    check(seconds < long_ms / 1000 / 2, f"the work took {seconds:.0f} s")
    note(f"everything was done {seconds:.0f} s after the death, time-out {long_ms // 1000} s")
    lives.terminate()


def test_broker_killed_in_transaction(test):
    """The broker dies between the messages and the commit of a transaction."""
    start = begin(test, "broker")
    worker = test.worker("w1", shards=1).start(fault="publish.before_commit:6:sleep:3000")
    driver = start()
    driver.wait_progress(20)
    test.stack.signal("kill", "kafka")
    test.stack.up("kafka")
    finish(test, driver)
    worker.terminate()


def test_database_read_only(test):
    """The database takes no writes for a while, as after a fail-over; nothing is lost."""
    start = begin(test, "readonly")
    db = test.database
    db.rows(f"CREATE OR REPLACE USER plain@'%' IDENTIFIED BY 'plain';"
            f"GRANT ALL ON {db.name}.* TO plain@'%'")
    worker = test.worker("w1", shards=1, mysql__user="plain", mysql__password="plain").start()
    driver = start()
    driver.wait_progress(100)
    db.rows("SET GLOBAL read_only = 1")
    try:
        wait_for("the worker is not ready", 60, lambda: worker.http("/readyz") is None)
    finally:
        db.rows("SET GLOBAL read_only = 0")
    finish(test, driver)
    check(said(worker, "read-only"), "the worker does not say why it waits")
    worker.terminate()


def test_statements_fail(test):
    """Deadlocks, lost connections and COMMITs without answer, again and again."""
    start = begin(test, "fail")
    points = [f"store.before_commit:{n}:error:E_STORE_RETRY" for n in (2, 3, 4, 5, 6, 12)]
    points += [f"store.before_commit:{n}:error:E_STORE_LOST" for n in (8, 15)]
    points += [f"store.after_commit:{n}:error:E_STORE_LOST" for n in (2, 5, 6)]
    worker = test.worker("w1", shards=1).start(fault=",".join(points))
    finish(test, start())
    log = worker.log.read_text()
    equal(log.count("the batch is applied"), 3, "COMMITs whose answer was lost")
    check("the database is back" in log, "the worker did not say that the database is back")
    worker.terminate()


def test_wrong_clocks(test):
    """Workers whose clocks are ten minutes apart hand partitions over."""
    start = begin(test, "clocks")
    skew = test.folder / "skew.so"
    run(["cc", "-O1", "-shared", "-fPIC", "-o", skew, ROOT / "tests" / "soak" / "skew.c"])
    workers = []
    for name, ms in (("w1", 600000), ("w2", -600000)):
        worker = test.worker(name, shards=1)
        worker.env = {"LD_PRELOAD": str(skew), "SKEW_MS": str(ms)}
        workers.append(worker.start())
    driver = start()
    driver.wait_progress(COMMANDS // 4)
    workers[0].terminate()
    driver.wait_progress(COMMANDS // 2)
    workers[0].start()
    driver.wait_progress(COMMANDS * 3 // 4)
    workers[1].kill()
    finish(test, driver)
    workers[0].terminate()
