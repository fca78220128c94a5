#!/usr/bin/env python3
"""service - does the jobs of one topic and tells bpmflow; needs kcat and nothing else

    service.py --brokers 127.0.0.1:9092 --jobs payments --state FOLDER

For each job it does the work and sends back the command that came with it. The order makes it
safe to be stopped at any moment: work, send, only then remember the offset. What is done twice
by that moves the instance on once, since the command has the same command_id each time; the
work itself should use job_id as its key in the same way.

SPDX-License-Identifier: MIT
"""
import argparse
import json
import pathlib
import subprocess
import sys


def work(job):
    """The business: here, pays `amount` of the variables up to `limit` of the node's meta."""
    amount = job["variables"].get("amount", 0)
    if amount > job["meta"].get("limit", float("inf")):
        return {"action": "back", "message": f"{amount} is over the limit"}
    return {"vars": {"paid": amount, "receipt": job["job_id"]}}


def partitions(options):
    """Partitions of the topic of the jobs."""
    text = subprocess.run(["kcat", "-b", options.brokers, "-L", "-J", "-t", options.jobs],
                          check=True, capture_output=True, text=True).stdout
    return [p["partition"] for topic in json.loads(text)["topics"]
            if topic["topic"] == options.jobs for p in topic["partitions"]]


def send(options, command):
    """Hand the answer to Kafka; the partitioner must be Java's, the key the instance."""
    subprocess.run(["kcat", "-P", "-b", options.brokers, "-t", options.commands, "-X",
                    "topic.partitioner=murmur2_random", "-X", "acks=all",
                    "-k", command["instance_id"]],
                   input=json.dumps(command, separators=(",", ":")), check=True, text=True)


def serve(options, partition):
    """All jobs of a partition that are there and were not done yet."""
    mark = pathlib.Path(options.state) / f"{options.jobs}-{partition}.offset"
    offset = int(mark.read_text()) if mark.exists() else 0
    lines = subprocess.run(["kcat", "-C", "-q", "-e", "-b", options.brokers, "-t", options.jobs,
                            "-p", str(partition), "-o", str(offset), "-f", "%o %s\n"],
                           check=True, capture_output=True, text=True).stdout.splitlines()
    for line in lines:
        at, value = line.split(" ", 1)
        job = json.loads(value)
        send(options, {**job["command"], **work(job)})
        mark.write_text(str(int(at) + 1))
        print("done", job["job_id"], flush=True)
    return len(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--brokers", default="127.0.0.1:9092")
    parser.add_argument("--jobs", required=True, help="topic of the jobs")
    parser.add_argument("--commands", default="bpmflow.commands", help="topic of the commands")
    parser.add_argument("--state", default=".", help="folder for the offsets")
    parser.add_argument("--count", type=int, default=0, help="end after so many jobs")
    options = parser.parse_args()
    done = 0
    while options.count == 0 or done < options.count:
        done += sum(serve(options, partition) for partition in partitions(options))
    return 0


if __name__ == "__main__":
    sys.exit(main())
