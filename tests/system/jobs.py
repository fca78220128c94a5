"""System tests of work that is handed to services (`@kafka:topic`): a worker dies with jobs
that are in the database and not in Kafka, or in a transaction of Kafka that is open.

The service of these tests is kcat and a few lines: it reads the jobs (read committed) and
sends back the command that came with each.

SPDX-License-Identifier: MIT
"""

import json
import time

from harness import TOPICS, check, equal, note, run, wait_for

INSTANCES = 150
JOBS = 3  # of an instance
ANSWERS = 40  # at a time, so that there are many batches of them
PARTITIONS = 4

GRAPH = """id: jobs
layout:
  - {{id: s, type: start}}
  - {{id: t1, title: Task 1, meta: {{actor: u1}}}}
  - {{id: p, type: parallel, link: [k1, k2]}}
  - {{id: k1, task: "@kafka:{topic}", meta: {{limit: 5}}, link: j}}
  - {{id: k2, task: "@kafka:{topic}", link: j}}
  - {{id: j, type: parallel}}
  - {{id: k3, task: "@kafka:{topic}"}}
  - {{id: e, type: end}}
"""


class Service:
    """Answers each job once."""

    def __init__(self, test, topic):
        self.test = test
        self.topic = topic
        self.brokers = test.stack.env["BF_KAFKA"]
        self.answered = set()

    def jobs(self):
        """All jobs that are committed, in no order."""
        lines = run(["kcat", "-C", "-q", "-e", "-b", self.brokers, "-t", self.topic, "-o",
                     "beginning", "-X", "isolation.level=read_committed", "-f", "%s\n"],
                    seconds=60).stdout.splitlines()
        return [json.loads(line) for line in lines]

    def answer(self):
        """What is new; the partitioner must be Java's, the key the instance."""
        new = [job for job in self.jobs() if job["job_id"] not in self.answered][:ANSWERS]
        if not new:
            return
        done = self.test.folder / "answers"
        done.write_text("".join(
            f"{job['instance_id']}\t{json.dumps(job['command'], separators=(',', ':'))}\n"
            for job in new))
        run(["kcat", "-P", "-b", self.brokers, "-t", self.test.topics["commands"], "-X",
             "topic.partitioner=murmur2_random", "-X", "acks=all", "-K", "\t", "-l", done],
            seconds=60)
        self.answered.update(job["job_id"] for job in new)


def begin(test):
    """Topics, tables, the definition, and instances whose one task is claimed."""
    test.use("mariadb", partitions=PARTITIONS)
    topic = f"{test.tag}.jobs"
    run([TOPICS, "--bootstrap", test.stack.env["BF_KAFKA"], "--partitions", PARTITIONS, topic],
        seconds=120)
    graphs = test.folder / "graphs"
    graphs.mkdir()
    (graphs / "jobs.yml").write_text(GRAPH.format(topic=topic))
    worker = test.worker("w1", shards=2, graphs__paths=[str(graphs)], jobs__topics=[topic])
    worker.start()
    claims = test.driver("claims", graph="jobs", prefix="job", instances=INSTANCES, tasks=1,
                         window=300, seconds=120, last_step=1)
    equal(claims.result()["answered"], INSTANCES * 2, "starts and claims with a reply")
    worker.terminate()
    return worker, Service(test, topic)


def serve(test, worker, service, seconds):
    """Answer jobs until all instances are completed; the worker that dies once is started
    again."""
    died = 0
    deadline = time.monotonic() + seconds
    while test.database.number("SELECT COUNT(*) FROM bpm_flow_repository WHERE status = 1") \
            < INSTANCES:
        check(time.monotonic() < deadline, f"not all instances complete within {seconds} s")
        service.answer()
        if worker.process.poll() is not None:
            equal(worker.process.returncode, -9, "exit status of the worker that dies")
            died += 1
            worker.start()
    return died


def killed(test, point, again):
    """Dies once with the jobs of tasks in flight, and at the `again`th time of its next life
    with those of answers."""
    worker, service = begin(test)
    db = test.database
    worker.start(fault=f"{point}:2:kill")
    submits = test.driver("submits", graph="jobs", prefix="job", instances=INSTANCES,
                          tasks=1, window=300, seconds=180, first_step=2)
    equal(worker.wait(120), -9, f"exit status of the worker at {point}")
    rows = db.number("SELECT COUNT(*) FROM bpm_flow_task WHERE action = 1050")
    published = len(service.jobs())
    check(rows > published, f"no job was in flight: {rows} rows, {published} jobs")
    note(f"died with {rows - published} of {rows} jobs in flight")
    worker.start(fault=f"{point}:{again}:kill")
    died = serve(test, worker, service, 180)
    equal(died, 1, "deaths while the service answers")
    equal(submits.result()["answered"], INSTANCES, "submits with a reply")
    jobs = service.jobs()
    equal(len({job["job_id"] for job in jobs}), INSTANCES * JOBS, "jobs")
    equal(len(jobs), INSTANCES * JOBS, "records of jobs")
    equal(db.number("SELECT COUNT(*) FROM bpm_flow_task WHERE action = 1050"),
          INSTANCES * JOBS, "rows of jobs")
    equal(db.number("SELECT COUNT(*) FROM bpm_flow_repository"), INSTANCES, "instances")
    wait_for("rows, events, replies and jobs agree", 90,
             lambda: f"{INSTANCES * JOBS} jobs" in (text := test.cli("verify", status=None))
             and ": clean" in text)
    worker.terminate()


def test_kill_with_jobs(test):
    """SIGKILL after the database's commit with jobs in flight: each is published once."""
    killed(test, "store.after_commit", 4)


def test_kill_in_transaction_with_jobs(test):
    """SIGKILL inside the Kafka transaction that has jobs: each is published once."""
    # A transaction for each partition comes first: what the dead one has not published.
    killed(test, "publish.before_commit", PARTITIONS + 4)
