"""What goes wrong in a soak test: one function for each kind of fault.

A function gets the world and its random numbers; it does the fault, plans its end, and
returns (target, detail), or None where it makes no sense now.  Targets that are faulty
already are left alone, so that a fault log can be read.

SPDX-License-Identifier: MIT
"""

import subprocess


def ups(world):
    return [slot for slot in world.slots if slot.state == "up" and not slot.planned]


def pick(world, least=1):
    """A worker that runs; at least so many do."""
    running = ups(world)
    return world.random.choice(running) if len(running) >= least else None


def plan(world, slot, seconds, action):
    slot.planned = True

    def act():
        slot.planned = False
        action()
    world.later(seconds, act)


def down_time(world):
    """At once, after a moment, or after the others have taken over."""
    kind = world.random.random()
    if kind < 0.4:
        return 0.0
    return world.random.uniform(0.3, 5) if kind < 0.75 else world.random.uniform(7, 14)


# --- workers

def worker_kill(world):
    slot = pick(world)
    if not slot:
        return None
    owned = world.owned_by(slot)
    slot.kill()
    seconds = down_time(world)
    plan(world, slot, seconds, slot.start)
    return slot.name, f"started again after {seconds:.1f} s", owned


def worker_term(world):
    slot = pick(world)
    if not slot:
        return None
    owned = world.owned_by(slot)
    seconds = down_time(world)
    slot.terminate(lambda: plan(world, slot, seconds, slot.start))
    return slot.name, f"started again {seconds:.1f} s after its end", owned


def worker_restart(world):
    slot = pick(world, 2)
    if not slot:
        return None
    owned = world.owned_by(slot)
    slot.terminate(slot.start)
    return slot.name, "started again at once", owned


def pause_for(world, seconds, then=None):
    slot = pick(world)
    if not slot:
        return None
    owned = world.owned_by(slot)
    slot.pause()
    plan(world, slot, seconds, then(slot) if then else slot.resume)
    return slot.name, f"for {seconds:.1f} s", owned


def worker_stop_short(world):
    return pause_for(world, world.random.uniform(0.2, 4))


def worker_stop_long(world):
    return pause_for(world, world.random.uniform(8, 18))


def worker_stop_kill(world):
    def end(slot):
        def act():
            slot.kill()
            slot.start()
        return act
    return pause_for(world, world.random.uniform(0.5, 12), end)


def worker_add(world):
    idle = [slot for slot in world.slots if slot.state == "down" and not slot.planned]
    if not idle:
        return None
    slot = world.random.choice(idle)
    slot.start()
    return slot.name, ""


def worker_remove(world):
    slot = pick(world, 3)
    if not slot:
        return None
    owned = world.owned_by(slot)
    slot.terminate()
    return slot.name, "", owned


def worker_kill_all(world):
    running = ups(world)
    if len(running) < 2:
        return None
    for slot in running:
        slot.kill()
        plan(world, slot, world.random.uniform(0, 3), slot.start)
    return " ".join(slot.name for slot in running), ""


# --- database

def database_kill(world):
    seconds = world.random.choice((0, 0, world.random.uniform(1, 8)))

    def act():
        world.test.stack.signal("kill", "mariadb")
        world.pause_here(seconds)
    return ("mariadb", f"down for {seconds:.1f} s more") if world.service("mariadb", act) else None


def database_restart(world):
    done = world.service("mariadb", lambda: world.test.stack.down("mariadb"))
    return ("mariadb", "") if done else None


def database_pause(world):
    seconds = world.random.uniform(0.5, 6)

    def act():
        world.test.stack.signal("pause", "mariadb")
        world.pause_here(seconds)
        world.test.stack.signal("resume", "mariadb")
    return ("mariadb", f"for {seconds:.1f} s") if world.service("mariadb", act) else None


def root_sql(world, sql):
    """A session of the administrator, in the background."""
    database = world.test.database
    world.helpers.append(subprocess.Popen(
        ["mariadb", "--no-defaults", "--socket=" + database.socket, "-uroot", "--batch", "--force",
         database.name, "-e", sql], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL))


def database_read_only(world):
    if world.service_busy["mariadb"]:
        return None
    seconds = world.random.uniform(0.3, 5)
    root_sql(world, "SET GLOBAL read_only = 1")
    world.later(seconds, lambda: root_sql(world, "SET GLOBAL read_only = 0"))
    return "mariadb", f"for {seconds:.1f} s"


def database_kill_connections(world):
    if world.service_busy["mariadb"]:
        return None
    try:
        rows = world.test.database.rows(
            "SELECT id FROM information_schema.processlist WHERE user = 'soak'")
    except Exception:  # pylint: disable=broad-except
        return None
    root_sql(world, "".join(f"KILL {row[0]};" for row in rows))
    return "mariadb", f"{len(rows)} connections"


def database_lock(world):
    if world.service_busy["mariadb"]:
        return None
    seconds = world.random.uniform(0.5, 14)
    table, what = world.random.choice((
        ("bpm_flow_offset", f"partition_no = {world.random.randrange(8)}"),
        ("bpm_flow_offset", "partition_no >= 0"),
        ("bpm_flow_repository", f"id % 7 = {world.random.randrange(7)}")))
    root_sql(world, f"START TRANSACTION; SELECT COUNT(*) FROM (SELECT 1 FROM {table} WHERE {what} "
                    f"FOR UPDATE) t; SELECT SLEEP({seconds:.2f}); ROLLBACK")
    return "mariadb", f"{table} where {what} for {seconds:.1f} s"


# --- broker

def kafka_kill(world):
    seconds = world.random.choice((0, 0, world.random.uniform(1, 6)))

    def act():
        world.test.stack.signal("kill", "kafka")
        world.pause_here(seconds)
    return ("kafka", f"down for {seconds:.1f} s more") if world.service("kafka", act) else None


def kafka_restart(world):
    done = world.service("kafka", lambda: world.test.stack.down("kafka"))
    return ("kafka", "") if done else None


def kafka_pause(world):
    seconds = world.random.uniform(0.5, 8)

    def act():
        world.test.stack.signal("pause", "kafka")
        world.pause_here(seconds)
        world.test.stack.signal("resume", "kafka")
    return ("kafka", f"for {seconds:.1f} s") if world.service("kafka", act) else None


def all_down(world):
    """Broker and database at the same time."""
    if any(world.service_busy.values()):
        return None
    for name in ("kafka", "mariadb"):
        world.service(name, lambda name=name: world.test.stack.signal("kill", name))
    return "kafka mariadb", ""


# --- network, of one worker

def gates_of(world, which):
    slot = pick(world)
    if not slot:
        return None, []
    return slot, {"database": [slot.database], "kafka": [slot.kafka],
                  "both": [slot.database, slot.kafka]}[which]


def net(which, what):
    def fault(world):
        slot, gates = gates_of(world, which)
        if not slot:
            return None
        seconds = world.random.uniform(0.3, 12)
        detail = f"for {seconds:.1f} s"
        for gate in gates:
            if what == "cut":
                gate.cut()
                detail = ""
            elif what == "lose_reply":
                gate.lose_reply()
                detail = ""
            elif what == "delay":
                gate.delay_ms = world.random.randint(20, 400)
                detail = f"by {gate.delay_ms} ms for {seconds:.1f} s"
            elif what == "hole":
                gate.hole = True
            elif what == "refuse":
                gate.refuse = True
                gate.cut()
            world.later(seconds, gate.heal)
        return slot.name, detail
    return fault


KINDS = {
    "worker.kill": (18, worker_kill),
    "worker.term": (10, worker_term),
    "worker.restart": (8, worker_restart),
    "worker.stop_short": (8, worker_stop_short),
    "worker.stop_long": (6, worker_stop_long),
    "worker.stop_kill": (3, worker_stop_kill),
    "worker.add": (6, worker_add),
    "worker.remove": (5, worker_remove),
    "worker.kill_all": (2, worker_kill_all),
    "database.kill": (4, database_kill),
    "database.restart": (2, database_restart),
    "database.pause": (3, database_pause),
    "database.read_only": (3, database_read_only),
    "database.kill_connections": (4, database_kill_connections),
    "database.lock": (4, database_lock),
    "kafka.kill": (4, kafka_kill),
    "kafka.restart": (2, kafka_restart),
    "kafka.pause": (3, kafka_pause),
    "all.kill": (1, all_down),
    "net.database.cut": (5, net("database", "cut")),
    "net.database.lose_reply": (5, net("database", "lose_reply")),
    "net.database.delay": (2, net("database", "delay")),
    "net.database.hole": (3, net("database", "hole")),
    "net.database.refuse": (2, net("database", "refuse")),
    "net.kafka.cut": (5, net("kafka", "cut")),
    "net.kafka.lose_reply": (5, net("kafka", "lose_reply")),
    "net.kafka.delay": (2, net("kafka", "delay")),
    "net.kafka.hole": (4, net("kafka", "hole")),
    "net.kafka.refuse": (2, net("kafka", "refuse")),
    "net.both.hole": (3, net("both", "hole")),
}


def do(world, kind):
    """One fault of that kind. False: it makes no sense now."""
    done = KINDS[kind][1](world)
    if not done:
        return False
    target, detail, owned = (*done, [])[:3]
    world.note_fault(kind, target, detail, owned)
    return True


def do_any(world):
    names = list(KINDS)
    weights = [KINDS[name][0] for name in names]
    while not do(world, world.random.choices(names, weights)[0]):
        pass
