// SPDX-License-Identifier: MIT
import java.sql.SQLTransactionRollbackException;
import java.util.Arrays;
import java.util.Locale;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;

/**
 * Drives a chain of user tasks through a peer: each client thread starts an instance and claims
 * and completes its tasks one after the other, then starts the next one.
 *
 * <p>Usage: FlowablePeer|CamundaPeer history|no-history JDBC_URL USER PASSWORD CLIENTS TASKS
 * WARM_UP_SECONDS SECONDS
 *
 * <p>Prints one JSON line a metric. A task is completed when complete() has returned, so the
 * engine has committed it.
 */
final class Bench {
    static final String KEY = "chain";

    record Database(String url, String user, String password) {
    }

    /** The approval chain: the task i is a candidate task of the user ui. */
    record Chain(int tasks) {
        String bpmn(String namespace) {
            StringBuilder xml = new StringBuilder();
            xml.append("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                    + "<definitions xmlns=\"http://www.omg.org/spec/BPMN/20100524/MODEL\""
                    + " xmlns:engine=\"").append(namespace)
                    .append("\" targetNamespace=\"bench\">\n<process id=\"").append(KEY)
                    .append("\" isExecutable=\"true\">\n<startEvent id=\"step0\"/>\n");
            for (int i = 1; i <= tasks; i++) {
                xml.append(String.format(Locale.ROOT,
                        "<userTask id=\"step%d\" name=\"Approval %d\""
                                + " engine:candidateUsers=\"u%d\"/>%n", i, i, i));
            }
            xml.append(String.format(Locale.ROOT, "<endEvent id=\"step%d\"/>%n", tasks + 1));
            for (int i = 0; i <= tasks; i++) {
                xml.append(String.format(Locale.ROOT, "<sequenceFlow id=\"flow%d\""
                        + " sourceRef=\"step%d\" targetRef=\"step%d\"/>%n", i, i, i + 1));
            }
            return xml.append("</process>\n</definitions>\n").toString();
        }
    }

    /** Times of one kind of call, by one thread. */
    private static final class Times {
        private long[] nanos = new long[1 << 12];
        private int count;

        void add(long value) {
            if (count == nanos.length) {
                nanos = Arrays.copyOf(nanos, count * 2);
            }
            nanos[count++] = value;
        }

        void addAll(Times other) {
            for (int i = 0; i < other.count; i++) {
                add(other.nanos[i]);
            }
        }

        double milliseconds(double share) {
            long[] sorted = Arrays.copyOf(nanos, count);
            Arrays.sort(sorted);
            return count == 0 ? 0 : sorted[(int) Math.min(count - 1L, (long) (share * count))] / 1e6;
        }
    }

    /** One client. Counts what it has completed between `from` and `until`. */
    private static final class Client extends Thread {
        private final Peer peer;
        private final int tasks;
        private final long from;
        private final long until;
        private final AtomicReference<RuntimeException> failure;
        private final Times claims = new Times();
        private final Times completions = new Times();
        private int retries;

        Client(Peer peer, int tasks, long from, long until,
                AtomicReference<RuntimeException> failure) {
            this.peer = peer;
            this.tasks = tasks;
            this.from = from;
            this.until = until;
            this.failure = failure;
        }

        /** The database chooses a victim of a deadlock now and then. */
        private static boolean isDeadlock(Throwable thrown) {
            for (Throwable cause = thrown; cause != null; cause = cause.getCause()) {
                if (cause instanceof SQLTransactionRollbackException) {
                    return true;
                }
            }
            return false;
        }

        private <T> T retried(Supplier<T> call) {
            while (true) {
                try {
                    return call.get();
                } catch (RuntimeException e) {
                    if (!isDeadlock(e)) {
                        throw e;
                    }
                    retries++;
                }
            }
        }

        private void retried(Runnable call) {
            retried(() -> {
                call.run();
                return null;
            });
        }

        private void runInstance() {
            String instance = retried(peer::start);
            for (int i = 1; i <= tasks; i++) {
                String task = peer.waiting(instance);
                long begin = System.nanoTime();
                String user = "u" + i;
                retried(() -> peer.claim(task, user));
                long claimed = System.nanoTime();
                retried(() -> peer.complete(task));
                long completed = System.nanoTime();
                if (completed >= from && completed < until) {
                    claims.add(claimed - begin);
                    completions.add(completed - claimed);
                }
            }
        }

        @Override
        public void run() {
            try {
                while (System.nanoTime() < until && failure.get() == null) {
                    runInstance();
                }
            } catch (RuntimeException e) {
                failure.compareAndSet(null, e);
            }
        }
    }

    private Bench() {
    }

    private static void print(String by, String metric, double value, String unit) {
        System.out.printf(Locale.ROOT, "{\"bench\":\"peers\",\"metric\":\"%s\",\"value\":%.2f,"
                + "\"unit\":\"%s\",\"by\":\"%s\"}%n", metric, value, unit, by);
    }

    private static void print(String by, String what, Times times) {
        print(by, what + " p50", times.milliseconds(0.5), "ms");
        print(by, what + " p99", times.milliseconds(0.99), "ms");
    }

    private static void measure(Peer peer, String by, int clients, int tasks, double warmUp,
            double seconds) throws InterruptedException {
        AtomicReference<RuntimeException> failure = new AtomicReference<>();
        long from = System.nanoTime() + (long) (warmUp * 1e9);
        long until = from + (long) (seconds * 1e9);
        Client[] all = new Client[clients];
        for (int i = 0; i < clients; i++) {
            all[i] = new Client(peer, tasks, from, until, failure);
            all[i].start();
        }
        Times claims = new Times();
        Times completions = new Times();
        int retries = 0;
        for (Client client : all) {
            client.join();
            claims.addAll(client.claims);
            completions.addAll(client.completions);
            retries += client.retries;
        }
        if (failure.get() != null) {
            throw failure.get();
        }
        if (peer.running() != 0) {
            throw new IllegalStateException(peer.running() + " instances did not come to their end");
        }
        print(by, "completed tasks/s", completions.count / seconds, "1/s");
        print(by, "claim", claims);
        print(by, "complete", completions);
        print(by, "repeated after a deadlock", retries, "");
    }

    /** Opens a peer. */
    interface Opener {
        Peer open(Database database, boolean history, Chain chain);
    }

    static void run(String name, String[] args, Opener opener) throws InterruptedException {
        boolean history = args[0].equals("history");
        Database database = new Database(args[1], args[2], args[3]);
        Chain chain = new Chain(Integer.parseInt(args[5]));
        try (Peer peer = opener.open(database, history, chain)) {
            measure(peer, name + (history ? ", history" : ", no history"),
                    Integer.parseInt(args[4]), chain.tasks(), Double.parseDouble(args[6]),
                    Double.parseDouble(args[7]));
        }
    }
}
