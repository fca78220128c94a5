"""What the soak test breaks: its own services, the workers, and the network between them.

SPDX-License-Identifier: MIT
"""

import glob
import heapq
import json
import os
import shutil
import signal
import subprocess
import threading
import time
from pathlib import Path

import harness
from proxy import Proxy

PARTITIONS = 8
SESSION_MS = 6000  # the least that a broker allows by default
TERM_LIMIT_S = 45


class Slot:
    """A place for a worker: its name, its two gates, and the process that runs or not."""

    def __init__(self, world, name, shards):
        self.world = world
        self.name = name
        self.shards = shards
        self.database = None
        self.kafka = None
        self.worker = None
        self.state = "down"  # up, stopped (SIGSTOP), ending (SIGTERM)
        self.since = 0.0
        self.planned = False  # something that will change it is in the timeline
        self.after_exit = None

    def set(self, state):
        self.state = state
        self.since = time.monotonic()

    def start(self):
        if self.state == "down" and not self.world.closing:
            self.worker.start(ready=None)
            self.set("up")

    def kill(self):
        if self.state == "down":
            return
        self.worker.kill()
        self.set("down")

    def terminate(self, after_exit=None):
        self.after_exit = after_exit
        self.worker.send(signal.SIGTERM)
        self.set("ending")

    def pause(self):
        self.worker.send(signal.SIGSTOP)
        self.set("stopped")

    def resume(self):
        if self.state == "stopped":
            self.worker.send(signal.SIGCONT)
            self.set("up")

    def stacks(self):
        """Where the threads are, for a process that does not end."""
        done = subprocess.run(
            ["gdb", "-p", str(self.worker.process.pid), "-batch", "-ex", "thread apply all bt"],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False)
        path = self.world.folder / f"{self.name}.stacks"
        path.write_text(done.stdout)
        return path

    def watch(self):
        """Notice processes that have ended, and those that should have."""
        if self.state == "down":
            return
        status = self.worker.process.poll()
        if status is None:
            if self.state == "ending" and time.monotonic() - self.since > TERM_LIMIT_S:
                self.world.problem("worker_hangs", f"{self.name} does not end within {TERM_LIMIT_S} s after "
                                                   f"SIGTERM, see {self.stacks()}")
                self.kill()
            return
        asked = self.state == "ending"
        if not asked or status != 0:
            self.world.problem("worker_ended", f"{self.name} ended with status {status}"
                                               f"{' after SIGTERM' if asked else ', unasked'}:\n"
                                               f"{harness.tail(self.worker.log, 12)}")
        self.set("down")
        after, self.after_exit = self.after_exit, None
        if after:
            after()
        elif not asked:
            self.world.later(1, self.start)


class Load:
    """Load.java in the background, and what it says of itself."""

    def __init__(self, world, rate, seed):
        self.last = {"at": 0, "sent": 0, "acked": 0, "expected": 0, "replies": 0}
        test = world.test
        self.arrivals = world.folder / "arrivals.txt"
        self.log = open(world.folder / "load.log", "wb")
        self.process = subprocess.Popen(
            ["java", "-Xmx256m", "-cp", java_libs(), str(world.here / "Load.java"), test.stack.env["BF_KAFKA"],
             test.topics["commands"], test.topics["replies"], "soak", str(rate), str(seed), str(self.arrivals)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, text=True)
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            try:
                self.last = json.loads(line)
            except ValueError:
                pass

    def stop_sending(self):
        self.process.stdin.close()

    def is_answered(self):
        return self.process.poll() == 0

    def check_alive(self):
        harness.check(self.process.poll() in (None, 0), f"the load has ended: {harness.tail(self.log.name, 10)}")

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(30)


def java_libs():
    cache = os.environ.get("STACK_CACHE", harness.ROOT / "build" / "cache")
    found = sorted(glob.glob(f"{cache}/kafka-*/kafka-clients-*.jar"))
    harness.check(found, f"no jars of Kafka in {cache}; run: deploy/stack/stack fetch kafka")
    return str(Path(found[-1]).parent) + "/*"


class World:
    def __init__(self, folder, random, options):
        self.folder = folder
        self.here = Path(__file__).resolve().parent
        self.random = random
        self.options = options
        self.test = None
        self.load = None
        self.proxy = Proxy()
        self.slots = []
        self.timeline = []
        self.order = 0
        self.problems = []
        self.faults = []
        self.service_busy = {"mariadb": False, "kafka": False}
        self.threads = []
        self.helpers = []
        self.healing = False
        self.closing = False
        self.fault_file = open(folder / "faults.jsonl", "w", encoding="utf-8")
        self.started = time.monotonic()

    # --- notes

    def say(self, text):
        print(f"{time.monotonic() - self.started:7.1f} s  {text}", flush=True)

    def problem(self, kind, text):
        self.problems.append((kind, text))
        self.say(f"PROBLEM {kind}: {text}")

    def note_fault(self, kind, target, detail, owned):
        fault = {"n": len(self.faults) + 1, "at": int(time.time() * 1000), "kind": kind, "target": target,
                 "detail": detail, "owned": owned}
        self.faults.append(fault)
        self.fault_file.write(json.dumps(fault) + "\n")
        self.fault_file.flush()
        self.say(f"fault {fault['n']}: {kind} {target} {detail}")
        return fault

    # --- the timeline

    def later(self, seconds, action):
        self.order += 1
        heapq.heappush(self.timeline, (time.monotonic() + seconds, self.order, action))

    def run_due(self):
        while self.timeline and self.timeline[0][0] <= time.monotonic():
            heapq.heappop(self.timeline)[2]()
        for slot in self.slots:
            slot.watch()
        self.load.check_alive()

    def spend(self, seconds):
        """Let time pass: things that are planned happen, ended processes are noticed."""
        deadline = time.monotonic() + seconds
        while True:
            self.run_due()
            left = deadline - time.monotonic()
            if left <= 0:
                return
            time.sleep(min(left, 0.05))

    def in_background(self, action):
        thread = threading.Thread(target=action, daemon=True)
        self.threads.append(thread)
        thread.start()

    # --- set-up

    def open(self):
        os.environ["STACK_DIR"] = str(self.folder / "stack")
        ports = [(harness.free_port(), harness.free_port()) for _ in range(self.options.slots)]
        os.environ["KAFKA_PROXIED"] = " ".join(f"{a}:{b}" for a, b in ports)
        # Its own copy: the build may go on meanwhile.
        shutil.copytree(harness.BUILD / "bin", self.folder / "build" / "bin")
        harness.BUILD = self.folder / "build"
        stack = harness.Stack()
        self.test = harness.Test("soak", self.folder, stack)
        self.say("starting Kafka and MariaDB")
        self.test.use("mariadb", partitions=PARTITIONS)
        self.test.database.rows(
            "CREATE OR REPLACE USER soak@'%' IDENTIFIED BY 'soak';"
            f"GRANT ALL ON {self.test.database.name}.* TO soak@'%'")
        skew = self.build_skew()
        for i, (listener, advertised) in enumerate(ports):
            slot = Slot(self, f"w{i + 1}", self.random.choice((1, 2, 2)))
            slot.database = self.proxy.gate(harness.free_port(), int(self.test.database.port))
            slot.kafka = self.proxy.gate(advertised, listener)
            slot.worker = self.test.worker(
                slot.name, shards=slot.shards, kafka__brokers=f"127.0.0.1:{advertised}",
                kafka__session_timeout_ms=SESSION_MS, mysql__port=slot.database.port,
                mysql__user="soak", mysql__password="soak", mysql__connect_timeout_ms=3000,
                mysql__read_timeout_ms=10000, mysql__write_timeout_ms=10000,
                batch__max_commands=self.random.choice((20, 200, 1000)))
            if i > 0:  # wrong clocks, up to ten minutes
                slot.worker.env = {"LD_PRELOAD": str(skew),
                                   "SKEW_MS": str(self.random.randint(-600000, 600000))}
            self.slots.append(slot)

    def build_skew(self):
        out = self.folder / "skew.so"
        harness.run(["cc", "-O1", "-shared", "-fPIC", "-o", out, self.here / "skew.c"])
        return out

    def owned_by(self, slot):
        """Partitions of a worker, by the database; empty when it cannot be asked now."""
        try:
            rows = self.test.database.rows(
                "SELECT partition_no FROM bpm_flow_offset WHERE released = 0 AND "
                f"owner LIKE '{slot.name}/%' AND topic = '{self.test.topics['commands']}'")
        except (harness.Failure, subprocess.SubprocessError):
            return []
        return [int(row[0]) for row in rows]

    # --- services

    def service(self, name, action):
        """One thing at a time with a service, in the background."""
        if self.service_busy[name]:
            return False
        self.service_busy[name] = True

        def work():
            try:
                action()
                self.test.stack.up(name)
                self.follow(name)
                self.say(f"{name} is up again")
            except Exception as failure:  # pylint: disable=broad-except
                self.problem("service", f"{name}: {failure}")
            finally:
                self.service_busy[name] = False
        self.in_background(work)
        return True

    def follow(self, name):
        """A service that came up at another port is followed by the gates."""
        address = self.test.stack.env["BF_KAFKA"]
        self.test.stack.need(name)
        if self.test.stack.env["BF_KAFKA"] != address:  # the load knows the old one only
            self.problem("kafka_moved", f"Kafka was at {address}, its port was taken meanwhile")
        if name == "mariadb":
            for slot in self.slots:
                slot.database.target = int(self.test.stack.env["BF_MARIADB_PORT"])

    def pause_here(self, seconds):
        """In a background thread: wait, but not longer than the faults last."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and not self.healing:
            time.sleep(0.05)

    # --- the end

    def heal(self):
        """Everything is well again: what is left to do is the workers' business."""
        self.healing = True
        while self.timeline:  # what was planned happens now
            heapq.heappop(self.timeline)[2]()
        for thread in self.threads:
            thread.join(180)
        for helper in self.helpers:
            helper.wait(60)
        for slot in self.slots:
            slot.database.heal()
            slot.kafka.heal()
            slot.resume()
        deadline = time.monotonic() + TERM_LIMIT_S + 10
        while any(slot.state == "ending" for slot in self.slots) and time.monotonic() < deadline:
            self.spend(0.2)
        while self.timeline:
            heapq.heappop(self.timeline)[2]()
        for slot in self.slots[:3]:
            slot.start()

    def close(self):
        self.closing = True
        for slot in self.slots:
            if slot.state == "stopped":
                slot.worker.send(signal.SIGCONT)
        if self.load:
            self.load.kill()
        self.fault_file.close()
        if self.test:
            self.test.close()
            if not os.environ.get("KEEP"):
                self.test.stack.stop()
