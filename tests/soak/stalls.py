"""How long partitions stood still after each fault.

The load notes when replies arrived from each partition; commands come to all partitions
all the time, so that a gap in the arrivals is a time without progress.

SPDX-License-Identifier: MIT
"""

import bisect
from collections import defaultdict
from pathlib import Path

# A fault is looked at alone when everything goes on before the next one comes, and went on
# when it came, or the one before is long ago.
ALONE_S = 20.0
STILL_MS = 1000


def read_arrivals(path):
    """Times of arrivals in ms, by partition."""
    arrivals = defaultdict(list)
    try:
        lines = Path(path).read_text().splitlines()
    except OSError:
        lines = []
    for line in lines:
        parts = line.split()
        if len(parts) == 3:
            arrivals[int(parts[1])].append(int(parts[0]))
    return arrivals


def longest_gap(times, begin, end):
    """(ms, ms at the end): the longest gap between the two times, and how long nothing
    has come when the end comes, from before the begin too."""
    first, last = bisect.bisect_left(times, begin), bisect.bisect_left(times, end)
    window = [begin, *times[first:last], end]
    return max(b - a for a, b in zip(window, window[1:])), end - (times[last - 1] if last else 0)


def first_after(arrivals, ms):
    """Seconds until there were replies from each partition."""
    firsts = []
    for times in arrivals.values():
        i = bisect.bisect_left(times, ms)
        firsts.append(times[i] - ms if i < len(times) else 10**6)
    return max(firsts, default=0) / 1000


def stalls(arrivals, faults, end_ms):
    """For each fault: the longest gap of the partitions that its target had, of all
    partitions, and whether another fault came before it was over."""
    result = []
    for n, fault in enumerate(faults):
        begin = fault["at"]
        following = faults[n + 1]["at"] if n + 1 < len(faults) else end_ms
        gaps = {p: longest_gap(times, begin, following) for p, times in arrivals.items()}
        if not gaps:
            continue
        owned = [gaps[p][0] for p in fault["owned"] if p in gaps]
        others = [gap for p, (gap, _) in gaps.items() if p not in fault["owned"]]
        going_on = max(at_end for _, at_end in gaps.values()) < STILL_MS
        alone = going_on and (not result or result[-1]["going_on"] or begin - faults[n - 1]["at"] > ALONE_S * 1000)
        result.append({"fault": fault, "owned_ms": max(owned, default=0), "others_ms": max(others, default=0),
                       "all_ms": max(gap for gap, _ in gaps.values()), "alone": alone,
                       "going_on": going_on})
    return result


def median(values):
    values = sorted(values)
    return values[len(values) // 2] if values else 0


def table(found):
    """Lines: for each kind how often, median and longest time without progress."""
    kinds = defaultdict(list)
    for one in found:
        kinds[one["fault"]["kind"]].append(one)
    lines = [f"{'time without progress, in s':32} {'faults':>6} {'median':>7} {'longest':>8} {'longest alone':>14}"]
    for kind in sorted(kinds):
        all_s = [one["all_ms"] / 1000 for one in kinds[kind]]
        alone = [one["all_ms"] / 1000 for one in kinds[kind] if one["alone"]]
        shown = f"{max(alone):14.1f}" if alone else f"{'-':>14}"
        lines.append(f"  {kind:30} {len(all_s):6} {median(all_s):7.1f} {max(all_s):8.1f} {shown}")
    return lines


def over_target(found, session_s):
    """Faults that were alone and took longer than they may."""
    targets = {"worker.kill": ("owned_ms", session_s + 1, "hand-over after SIGKILL"),
               "worker.term": ("owned_ms", 3, "hand-over after SIGTERM"),
               "worker.restart": ("others_ms", 2, "planned restart, partitions of the others")}
    late = []
    for one in found:
        kind = one["fault"]["kind"]
        if one["alone"] and kind in targets:
            key, limit_s, what = targets[kind]
            if one[key] > limit_s * 1000:
                late.append(f"fault {one['fault']['n']}: {what} took {one[key] / 1000:.1f} s, target {limit_s:.0f} s")
    return late
