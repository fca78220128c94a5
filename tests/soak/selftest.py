"""Can the checker fail? Copies of what a run has left are damaged, each in one way, and
the checker has to find each.

SPDX-License-Identifier: MIT
"""

import json
import shutil
import subprocess

INSTANCES = 60
RECORDS = ("commands", "replies", "events", "dead")
TABLES = {"task": "flow_ins_id", "repository": "instant_id", "command": "instant_id"}


class Copy:
    """Files of a dump in memory; written to a folder of its own when damaged."""

    def __init__(self, source):
        self.records = {name: [json.loads(line) for line in (source / f"{name}.jsonl").open(encoding="utf-8")]
                        for name in RECORDS}
        self.tables = {}
        for name in (*TABLES, "offset"):
            lines = (source / f"{name}.tsv").read_text(encoding="utf-8").splitlines()
            self.tables[name] = [line.split("\t") for line in lines]
        self.ends = json.loads((source / "ends.json").read_text())

    def column(self, table, name):
        return self.tables[table][0].index(name)

    def rows(self, table):
        return self.tables[table][1:]

    def write(self, folder):
        folder.mkdir(parents=True)
        for name, records in self.records.items():
            with open(folder / f"{name}.jsonl", "w", encoding="utf-8") as out:
                for record in records:
                    out.write(json.dumps(record) + "\n")
        for name, rows in self.tables.items():
            (folder / f"{name}.tsv").write_text("".join("\t".join(row) + "\n" for row in rows), encoding="utf-8")
        (folder / "ends.json").write_text(json.dumps(self.ends))


def keep_some(source, folder):
    """A copy with a few instances; those that have more to damage come first."""
    copy = Copy(source)
    backs = [e["k"] for e in copy.records["events"] if '"action":"back"' in e["v"]]
    dead = [e["k"] for e in copy.records["dead"]]
    rest = [e["k"] for e in copy.records["events"]]
    keys = set(list(dict.fromkeys(dead[:10] + backs[:20] + rest))[:INSTANCES])
    for name in RECORDS:
        copy.records[name] = [r for r in copy.records[name] if r["k"] in keys]
    places = {(str(r["p"]), str(r["o"])) for r in copy.records["commands"]}
    for name, key in TABLES.items():
        i = copy.column(name, key)
        rows = copy.rows(name)
        if name == "command":
            p, o = copy.column(name, "partition_no"), copy.column(name, "command_offset")
            rows = [row for row in rows if (row[p], row[o]) in places]
        else:
            rows = [row for row in rows if row[i] in keys]
        copy.tables[name] = [copy.tables[name][0], *rows]
    copy.write(folder)


def value(record, change):
    """Change the JSON of a record."""
    node = json.loads(record["v"])
    change(node)
    record["v"] = json.dumps(node, separators=(",", ":"), ensure_ascii=False)


def same_instance(records, n=2):
    """Indices of n records of one instance, in order."""
    places = {}
    for i, record in enumerate(records):
        places.setdefault(record["k"], []).append(i)
        if len(places[record["k"]]) == n and len({records[j]["v"] for j in places[record["k"]]}) == n:
            return places[record["k"]]
    raise ValueError("too few records")


def swap(records):
    i, j = same_instance(records)
    for key in ("v", "h"):
        records[i][key], records[j][key] = records[j][key], records[i][key]


def again(records, offset):
    records.append({**records[0], "o": records[0]["o"] + offset})


def set_field(copy, table, name, text, n=0):
    copy.tables[table][1 + n][copy.column(table, name)] = text


def add_row(copy, table, changes):
    row = list(copy.tables[table][1])
    for name, text in changes.items():
        row[copy.column(table, name)] = text
    copy.tables[table].append(row)


def find_row(copy, table, name, wanted):
    i = copy.column(table, name)
    return next(n for n, row in enumerate(copy.rows(table)) if wanted(row[i]))


def lower_first(node):
    part = next(iter(node))
    node[part] -= 1


def last_event_first(copy):
    """The last event of an instance before its others, in another transaction."""
    events = copy.records["events"]
    i, j = same_instance(events)
    events[j]["o"] = events[i]["o"] - 0.5


def open_end(copy):
    part = copy.ends["events"]["0"]
    part["high"] = part["stable"] + 3


# name: (what must be found, damage)
DAMAGES = {
    "event deleted": ("events_lost", lambda c: c.records["events"].pop(3)),
    "event twice": ("events_duplicated", lambda c: again(c.records["events"], 100000)),
    "events swapped": ("events_out_of_order", lambda c: swap(c.records["events"])),
    "event in another partition": ("events_out_of_order", lambda c: c.records["events"][
        same_instance(c.records["events"])[1]].update(p=99)),
    "event without row": ("events_extra", lambda c: value(
        c.records["events"][0], lambda v: v.update(event_id=v["instance_id"] + "/999", seq=999))),
    "event's variables changed": ("events_differ", lambda c: value(
        c.records["events"][1], lambda v: v["variables"].update(done=-1))),
    "event's status changed": ("events_differ", lambda c: value(
        c.records["events"][2], lambda v: v.update(status=1))),
    "event's time changed": ("events_differ", lambda c: value(
        c.records["events"][2], lambda v: v.update(create_time="2001-01-01T00:00:00.000Z"))),
    "event's header changed": ("events_differ", lambda c: c.records["events"][1]["h"].update(ce_id="x/1")),
    "row deleted": ("rows_lost", lambda c: c.tables["task"].pop(2)),
    "row twice": ("applied_twice", lambda c: add_row(c, "task", {"seq": "500"})),
    "row of nobody": ("rows_extra", lambda c: add_row(c, "task", {"seq": "500", "command_id": "nobody"})),
    "row of another instance": ("rows_extra", lambda c: add_row(c, "task", {"flow_ins_id": "nobody"})),
    "row's target changed": ("rows_differ", lambda c: set_field(c, "task", "target_node_code", "t9")),
    "row's variables changed": ("rows_differ", lambda c: set_field(c, "task", "variables", "{}", 3)),
    "outcome deleted": ("commands_lost", lambda c: c.tables["command"].pop(4)),
    "outcome changed": ("wrong_outcome", lambda c: set_field(c, "command", "code", "not_waiting", find_row(
        c, "command", "code", lambda code: code == "ok"))),
    "outcome twice": ("wrong_outcome", lambda c: add_row(c, "command", {"command_offset": "99999999"})),
    "reply in the table changed": ("replies_differ", lambda c: set_field(
        c, "command", "reply", "{}", find_row(c, "command", "command", lambda name: name == "submit"))),
    "reply deleted": ("replies_missing", lambda c: c.records["replies"].pop(5)),
    "reply twice": ("replies_duplicated", lambda c: again(c.records["replies"], 100000)),
    "reply changed": ("replies_other_bytes", lambda c: value(c.records["replies"][1], lambda v: v.update(revision=-1))),
    "replies swapped": ("replies_out_of_order", lambda c: swap(c.records["replies"])),
    "instance deleted": ("instances_lost", lambda c: c.tables["repository"].pop(1)),
    "instance's variables changed": ("wrong_state", lambda c: set_field(c, "repository", "vars", '{"done":-1}')),
    "instance's states changed": ("wrong_state", lambda c: set_field(c, "repository", "states", '{"five:t1":1}')),
    "instance's seq changed": ("wrong_state", lambda c: set_field(c, "repository", "seq", "77")),
    "instance's status changed": ("wrong_state", lambda c: set_field(c, "repository", "status", "3")),
    "dead letter deleted": ("dead_letters_missing", lambda c: c.records["dead"].pop(0)),
    "dead letter twice": ("dead_letters_duplicated", lambda c: again(c.records["dead"], 100000)),
    "dead letter changed": ("dead_letters_extra", lambda c: c.records["dead"][0].update(v="other")),
    "partition not applied": ("partitions_stuck", lambda c: set_field(c, "offset", "next_offset", "1")),
    "partition not published": ("partitions_stuck", lambda c: lower_first(c.ends["group"])),
    "transaction open": ("open_transactions", open_end),
}


def run(checker, source, folder):
    """(found, missed): names of damages."""
    shutil.rmtree(folder, ignore_errors=True)
    keep_some(source, folder / "clean")
    dirs = {"clean": folder / "clean"}
    for name, (_, damage) in DAMAGES.items():
        copy = Copy(folder / "clean")
        damage(copy)
        dirs[name] = folder / name.replace(" ", "_").replace("'", "")
        copy.write(dirs[name])
    done = subprocess.run([*checker, "check", *map(str, dirs.values())], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=300, check=False)
    results = [json.loads(line) for line in done.stdout.splitlines()]
    if len(results) != len(dirs):
        raise ValueError(f"the checker said: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    found, missed = [], []
    for name, result in zip(dirs, results):
        if name == "clean":
            right = result["total"] == 0
        else:
            right = result["findings"][DAMAGES[name][0]] > 0
        (found if right else missed).append(name)
    return found, missed
