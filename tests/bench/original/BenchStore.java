// SPDX-License-Identifier: MIT
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Locale;

import org.noear.solon.flow.FlowContext;
import org.noear.solon.flow.FlowEngine;
import org.noear.solon.flow.Graph;

/**
 * The original engine with a repository in JDBC as one writes it by hand: each submit walks the
 * graph, writes the row of its instance and a row of the history, and commits.
 *
 * <p>Its workflow module is not at hand in this version, so that a walk stands for its executor.
 *
 * <p>Usage: BenchStore URL USER PASSWORD THREADS WARM_UP_SECONDS SECONDS
 */
public final class BenchStore {
    private static final int STEPS = 5;
    private static final String GRAPH = "{\"id\":\"chain\",\"layout\":["
            + "{\"id\":\"s\",\"type\":\"start\",\"link\":\"t0\"},"
            + "{\"id\":\"t0\",\"link\":\"t1\"},{\"id\":\"t1\",\"link\":\"t2\"},"
            + "{\"id\":\"t2\",\"link\":\"t3\"},{\"id\":\"t3\",\"link\":\"t4\"},"
            + "{\"id\":\"t4\",\"link\":\"e\"},{\"id\":\"e\",\"type\":\"end\"}]}";
    private static final String STATES = "{\"chain:t0\":1002,\"chain:t1\":1002,\"chain:t2\":1001}";

    /** One executor with a connection of its own. */
    private static final class Executor extends Thread {
        private final Connection connection;
        private final int number;
        private final long from;
        private final long until;
        private final FlowEngine engine = FlowEngine.newInstance();
        private final Graph graph = Graph.fromText(GRAPH);
        private long submits;
        private SQLException failure;

        Executor(Connection connection, int number, long from, long until) throws SQLException {
            this.connection = connection;
            this.number = number;
            this.from = from;
            this.until = until;
            engine.load(graph);
            connection.setAutoCommit(false);
        }

        private void submit(PreparedStatement row, PreparedStatement history, String id, int step)
                throws SQLException {
            engine.eval(graph, FlowContext.of(id));
            row.setString(1, id);
            row.setString(2, STATES);
            row.setInt(3, step + 1);
            row.executeUpdate();
            history.setString(1, id);
            history.setInt(2, step + 1);
            history.setString(3, "t" + step);
            history.executeUpdate();
            connection.commit();
        }

        private void work() throws SQLException {
            try (PreparedStatement row = connection.prepareStatement(
                    "INSERT INTO flow_state (instance_id, states, rev) VALUES (?, ?, ?)"
                            + " ON DUPLICATE KEY UPDATE states = VALUES(states), rev = VALUES(rev)");
                    PreparedStatement history = connection.prepareStatement(
                            "INSERT INTO flow_history (instance_id, seq, node, actor, message,"
                                    + " create_time) VALUES (?, ?, ?, 'li', 'agreed', NOW(3))")) {
                for (long i = 0; System.nanoTime() < until; i++) {
                    String id = "leave-" + number + "-" + Long.toHexString(i * 0x9e3779b97f4a7c15L);
                    for (int step = 0; step < STEPS && System.nanoTime() < until; step++) {
                        submit(row, history, id, step);
                        submits += System.nanoTime() >= from ? 1 : 0;
                    }
                }
            }
        }

        @Override
        public void run() {
            try {
                work();
            } catch (SQLException e) {
                failure = e;
            }
        }
    }

    private BenchStore() {
    }

    private static void makeTables(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute("CREATE TABLE IF NOT EXISTS flow_state ("
                    + "instance_id VARCHAR(64) PRIMARY KEY, states LONGTEXT, rev INT)");
            statement.execute("CREATE TABLE IF NOT EXISTS flow_history ("
                    + "id BIGINT AUTO_INCREMENT PRIMARY KEY, instance_id VARCHAR(64), seq INT,"
                    + " node VARCHAR(255), actor VARCHAR(255), message TEXT,"
                    + " create_time DATETIME(3), KEY (instance_id))");
        }
    }

    public static void main(String[] args) throws SQLException, InterruptedException {
        int threads = Integer.parseInt(args[3]);
        long from = System.nanoTime() + (long) (Double.parseDouble(args[4]) * 1e9);
        long until = from + (long) (Double.parseDouble(args[5]) * 1e9);
        Executor[] executors = new Executor[threads];
        long submits = 0;
        for (int i = 0; i < threads; i++) {
            Connection connection = DriverManager.getConnection(args[0], args[1], args[2]);
            makeTables(connection);
            executors[i] = new Executor(connection, i, from, until);
        }
        for (Executor executor : executors) {
            executor.start();
        }
        for (Executor executor : executors) {
            executor.join();
            if (executor.failure != null) {
                throw executor.failure;
            }
            submits += executor.submits;
            executor.connection.close();
        }
        System.out.printf(Locale.ROOT, "{\"bench\":\"repository\",\"metric\":\"JDBC by hand, %d "
                + "thread%s\",\"value\":%.1f,\"unit\":\"submits/s\",\"by\":\"original\"}%n",
                threads, threads == 1 ? "" : "s", submits / Double.parseDouble(args[5]));
    }
}
