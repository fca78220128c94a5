"""The system tests: worker processes on real Kafka and a real database.

Each function test_<name>(test) is one test; its first line says what it proves.

SPDX-License-Identifier: MIT
"""

import json
import time

from harness import check, equal, note, run, wait_for

INSTANCES = 2000
TASKS = 5
COMMANDS = INSTANCES * (1 + 2 * TASKS)


def completed(test, instances, tasks):
    """All rows are there, in order, and every instance is completed."""
    db = test.database
    equal(db.number("SELECT COUNT(*) FROM bpm_flow_task"), instances * tasks,
          "rows in bpm_flow_task")
    equal(db.number("SELECT COUNT(*) FROM (SELECT flow_ins_id FROM bpm_flow_task"
                    " GROUP BY flow_ins_id HAVING COUNT(*) <> %d OR MIN(seq) <> 1"
                    " OR MAX(seq) <> %d) bad" % (tasks, tasks)), 0,
          "instances with a gap in their history")
    equal(db.number("SELECT COUNT(*) FROM bpm_flow_repository WHERE status = 1"), instances,
          "completed instances")
    equal(db.number("SELECT COUNT(*) FROM bpm_flow_repository"), instances, "instances")


def restart(test, server):
    """Two of three workers are stopped and started again in the middle of the work."""
    test.use(server, partitions=8)
    workers = [test.worker(f"w{i}", shards=2).start() for i in (1, 2, 3)]
    first = test.driver("first", graph="five", prefix="leave", instances=INSTANCES,
                        tasks=TASKS, window=2000, seconds=240)
    first.wait_progress(COMMANDS // 4)
    workers[0].terminate()
    first.wait_progress(COMMANDS // 3)
    workers[1].terminate()
    first.wait_progress(COMMANDS // 2)
    workers[0].start()
    first.wait_progress(COMMANDS * 2 // 3)
    workers[1].start()
    counts = first.result()
    equal(counts["answered"], COMMANDS, "commands with a reply")
    note(f"{counts['answered']} commands, {counts['per_second']} a second, "
         f"two workers stopped and started in between")
    completed(test, INSTANCES, TASKS)
    equal(test.database.number("SELECT COUNT(*) FROM bpm_flow_command"), COMMANDS,
          "rows in bpm_flow_command")
    test.cli("verify", seconds=180)

    before = test.database.checksum("bpm_flow_repository", "bpm_flow_task")
    again = test.driver("again", graph="five", prefix="leave", instances=INSTANCES,
                        tasks=TASKS, window=2000, seconds=240, duplicates=True)
    counts = again.result()
    equal(counts["answered"], COMMANDS, "repeated commands with a reply")
    equal(test.database.checksum("bpm_flow_repository", "bpm_flow_task"), before,
          "content of the tables after the same commands once more")
    test.cli("verify", seconds=180)
    for worker in workers:
        worker.terminate()


def test_restart_mariadb(test):
    """Exactly once on MariaDB while workers stop and start; repeats change nothing."""
    restart(test, "mariadb")


def test_restart_mysql(test):
    """Exactly once on MySQL while workers stop and start; repeats change nothing."""
    restart(test, "mysql")


def killed(test, point, settings=(), verify=(), **options):
    """A worker that dies at a fault point; its successor completes the work."""
    instances = 200
    test.use("mariadb", partitions=4)
    worker = test.worker("w1", shards=2, **dict(settings)).start(fault=f"{point}:3:kill")
    driver = test.driver("driver", graph="five", prefix="kill", instances=instances,
                         tasks=TASKS, window=300, seconds=180, **options)
    equal(worker.wait(120), -9, f"exit status of the worker at {point}")
    check(driver.progress() < instances * (1 + 2 * TASKS), "the worker died too late")
    worker.start()
    counts = driver.result()
    equal(counts["answered"], instances * (1 + 2 * TASKS), "commands with a reply")
    completed(test, instances, TASKS)
    test.cli("verify", *verify, seconds=120)
    worker.terminate()
    return counts


def test_kill_between_commits(test):
    """SIGKILL after the database's commit and before Kafka's: nothing lost or doubled."""
    killed(test, "store.after_commit")


def test_kill_before_kafka_commit(test):
    """SIGKILL inside the Kafka transaction: it is aborted and published again."""
    killed(test, "publish.before_commit")


def test_kill_after_early_replies(test):
    """SIGKILL when replies are out and events are not: replies may come twice, with the
    same bytes; events never (verify reads them all)."""
    counts = killed(test, "publish.before_commit", {"replies.delivery": "early"},
                    ["--early-replies"], allow_repeats=True)
    check(counts["repeated"] > 0, "no reply came twice: the worker died too early")
    equal(counts["differing"], 0, "replies with other bytes than the first")


def test_kill_before_early_replies(test):
    """SIGKILL after the database's commit and before the early replies: none is lost."""
    killed(test, "store.after_commit", {"replies.delivery": "early"}, ["--early-replies"],
           allow_repeats=True)


def test_kill_before_database_commit(test):
    """SIGKILL before the database's commit: the batch is applied by the next owner."""
    killed(test, "store.before_commit")


def test_takeover(test):
    """A worker is killed and stays dead: another one fences it and completes its work."""
    instances = 200
    test.use("mariadb", partitions=4)
    dies = test.worker("w1", shards=2).start(fault="publish.before_commit:4:kill")
    lives = test.worker("w2", shards=2).start()
    driver = test.driver("driver", graph="five", prefix="take", instances=instances,
                         tasks=TASKS, window=300, seconds=180)
    equal(dies.wait(120), -9, "exit status of the worker that dies")
    counts = driver.result()
    equal(counts["answered"], instances * (1 + 2 * TASKS), "commands with a reply")
    completed(test, instances, TASKS)
    test.cli("verify", seconds=120)
    lives.terminate()


def purge(test, *words):
    return json.loads(test.cli("purge", "--older-than", "0s", "--json", *words).splitlines()[-1])


def purged_beside(test, server):
    """What is finished is purged again and again while workers go on."""
    before, beside = 100, 300
    instances = before + beside
    commands = instances * (1 + 2 * TASKS)
    test.use(server, partitions=4)
    worker = test.worker("w1", shards=2).start()
    # Some are finished when the first purge begins: that there is something to purge beside
    # the busy worker is no matter of how far it has come.
    test.driver("first", graph="five", prefix="early", instances=before, tasks=TASKS,
                window=300, seconds=240).result()
    driver = test.driver("driver", graph="five", prefix="purge", instances=beside,
                         tasks=TASKS, window=300, seconds=240)
    archive = test.folder / "archive.jsonl"
    runs, gone = 0, 0
    while driver.process.poll() is None:
        counts = purge(test, "--batch", "20", "--pause", "1ms", "--archive", archive)
        gone += counts["instances"]
        runs += 1
    counts = driver.result()
    equal(counts["answered"], beside * (1 + 2 * TASKS), "commands with a reply")
    wait_for("everything is published and purged", 60, lambda: purge(
        test, "--archive", archive)["instances"] == 0
        and test.database.number("SELECT COUNT(*) FROM bpm_flow_repository") == 0)
    for table in ("bpm_flow_task", "bpm_flow_command"):
        equal(test.database.number(f"SELECT COUNT(*) FROM {table}"), 0, f"rows in {table}")
    check(gone > 0, "nothing was purged beside the worker")
    note(f"{gone} of {instances} instances purged by {runs} runs while the worker was busy")

    rows = [json.loads(line) for line in archive.read_text().splitlines()]
    equal(len(rows), instances * (1 + TASKS) + commands, "rows in the archive")
    equal(len({(row["row"]["flow_ins_id"], row["row"]["seq"]) for row in rows
               if row["table"] == "bpm_flow_task"}), instances * TASKS, "archived history")
    result = json.loads(test.cli("verify", "--json", seconds=180).splitlines()[-1])
    equal(result["purged_instances"], instances, "purged instances by verify")

    # The worker has the instance in its cache; what it writes finds no row any more.
    test.cli("submit", "purge-0", "t1", "--action", "restart", "--actor", "u1",
             status=1)
    equal(test.database.number("SELECT COUNT(*) FROM bpm_flow_repository"), 0,
          "instances after a command to one that was purged")
    test.cli("start", "new-1", "--graph", "five")
    check(worker.http("/readyz") is not None, "the worker is not ready")
    test.cli("verify", seconds=180)
    worker.terminate()


def test_purge_mariadb(test):
    """Purge beside a busy worker on MariaDB: nothing open or unpublished goes, all is archived."""
    purged_beside(test, "mariadb")


def test_purge_mysql(test):
    """Purge beside a busy worker on MySQL: nothing open or unpublished goes, all is archived."""
    purged_beside(test, "mysql")


def resident_mb(worker):
    for line in open(f"/proc/{worker.process.pid}/status", encoding="ascii"):
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) // 1024
    return 0


def test_back_pressure(test):
    """Database and broker stand still while far more is on the topic than may be in
    memory: nothing is lost, and the worker does not grow."""
    instances, tasks = 4000, 5
    test.use("mariadb", partitions=4)
    worker = test.worker("w1", shards=2, kafka__consumer_properties=[
        "queued.max.messages.kbytes=4096"])
    what = {"graph": "five", "prefix": "press", "instances": instances, "tasks": tasks,
            "submits_only": True, "seconds": 240}
    equal(test.driver("sends", send_only=True, **what).process.wait(120), 0,
          "exit status of the sending driver")
    worker.start()
    driver = test.driver("reads", read_only=True, **what)
    driver.wait_progress(2000)
    before = resident_mb(worker)
    peak = before
    for service in ("mariadb", "kafka"):
        test.stack.signal("pause", service)
        try:
            for _ in range(20):
                time.sleep(0.1)
                peak = max(peak, resident_mb(worker))
        finally:
            test.stack.signal("resume", service)
        driver.wait_progress(driver.progress() + 1000)
    counts = driver.result()
    equal(counts["answered"], instances * (1 + tasks), "commands with a reply")
    peak = max(peak, resident_mb(worker))
    note(f"resident: {before} MB before, {peak} MB at most")
    check(peak < before + 100, f"the worker has grown from {before} to {peak} MB")
    worker.terminate()


def send_noise(test, instance, count):
    """Commands of one instance in a row; each is accepted and changes nothing."""
    lines = []
    for i in range(count):
        lines.append(instance + "|" + json.dumps({
            "command_id": f"noise-{i}", "command": "start" if i == 0 else "claim",
            "instance_id": instance, "graph_id": "five", "actor": "u1"}))
    path = test.folder / "noise"
    path.write_text("\n".join(lines) + "\n", encoding="ascii")
    run(["kcat", "-P", "-b", test.stack.env["BF_KAFKA"], "-t", test.topics["commands"],
         "-K", "|", "-X", "partitioner=murmur2_random", "-l", path], seconds=60)


def test_noisy_instance(test):
    """10,000 commands of one instance in a row: those of others that come behind them are
    in the batch of the last of them or in the next one, and those of another partition in
    the first batch after they are fetched, or in the next one."""
    test.use("mariadb", partitions=2)
    send_noise(test, "noisy", 10000)
    what = {"graph": "five", "prefix": "quiet", "instances": 100, "tasks": 1,
            "submits_only": True, "seconds": 120}
    equal(test.driver("sends", send_only=True, **what).process.wait(60), 0,
          "exit status of the sending driver")
    # While the first batch is held up, both partitions are fetched.
    worker = test.worker("w1", shards=1).start(fault="store.before_commit:1:sleep:5000")
    counts = test.driver("reads", read_only=True, **what).result()
    equal(counts["answered"], 200, "quiet commands with a reply")
    wait_for("the noise is applied", 60, lambda: test.database.number(
        "SELECT COUNT(*) FROM bpm_flow_command WHERE instant_id = 'noisy'") == 10000)
    worker.terminate()
    # The rows of a batch have the same time.
    rows = [(row[0], row[1] == "noisy", row[2] == "start", row[3]) for row in test.database.rows(
        "SELECT partition_no, instant_id, command, DATE_FORMAT(create_time, '%Y%m%d%H%i%s%f')"
        " FROM bpm_flow_command")]
    batches = sorted({row[3] for row in rows})
    number = {batch: i for i, batch in enumerate(batches)}
    where = next(row[0] for row in rows if row[1])
    last_noise = max(number[row[3]] for row in rows if row[1])
    quiet = [number[row[3]] for row in rows if not row[1] and row[2] and row[0] == where]
    check(max(quiet) <= last_noise + 1,
          f"quiet commands waited for {max(quiet) - last_noise} batches behind the noise")
    first = min(number[row[3]] for row in rows if row[0] != where)
    note(f"{len(batches)} batches; the noise ends in number {last_noise}, the other"
         f" partition begins in number {first}")
    check(first <= 2, f"the other partition waited for {first} batches of noise")


def test_database_away(test):
    """The database is stopped and started again: the worker waits, nothing is lost."""
    instances = 200
    test.use("mariadb", partitions=4)
    worker = test.worker("w1", shards=2).start()
    driver = test.driver("driver", graph="five", prefix="away", instances=instances,
                         tasks=TASKS, window=300, seconds=180)
    driver.wait_progress(300)
    test.stack.down("mariadb")
    wait_for("the worker is not ready without its database", 60,
             lambda: worker.http("/readyz") is None)
    test.stack.up("mariadb")
    counts = driver.result()
    equal(counts["answered"], instances * (1 + 2 * TASKS), "commands with a reply")
    completed(test, instances, TASKS)
    test.cli("verify", seconds=120)
    worker.terminate()


def test_broker_away(test):
    """Kafka is stopped and started again: the worker waits, nothing is lost or doubled."""
    instances = 200
    test.use("mariadb", partitions=4)
    worker = test.worker("w1", shards=2).start()
    driver = test.driver("driver", graph="five", prefix="broker", instances=instances,
                         tasks=TASKS, window=300, seconds=240)
    driver.wait_progress(300)
    test.stack.down("kafka")
    test.stack.up("kafka")
    counts = driver.result()
    equal(counts["answered"], instances * (1 + 2 * TASKS), "commands with a reply")
    completed(test, instances, TASKS)
    test.cli("verify", seconds=120)
    worker.terminate()


def test_two_workers_with_one_id(test):
    """A second worker of the same name fences the first, which says so and gives way."""
    instances = 100
    test.use("mariadb", partitions=4)
    first = test.worker("w1", shards=1).start()
    second = test.worker("w1b", shards=1, worker__id="w1").start()
    driver = test.driver("driver", graph="five", prefix="twin", instances=instances,
                         tasks=TASKS, window=300, seconds=180)
    counts = driver.result()
    equal(counts["answered"], instances * (1 + 2 * TASKS), "commands with a reply")
    completed(test, instances, TASKS)
    test.cli("verify", seconds=120)
    logs = first.log.read_text() + second.log.read_text()
    check("fenced" in logs, "no worker says that it was fenced")
