// SPDX-License-Identifier: MIT
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;

import com.sun.management.OperatingSystemMXBean;

import org.noear.solon.flow.FlowContext;
import org.noear.solon.flow.FlowEngine;
import org.noear.solon.flow.Graph;

/**
 * Times the original engine on graphs that bench_engine has written, on one thread.
 *
 * <p>Once with a context made for each evaluation, once with one that is used again with its
 * trace off. Seconds are those that the process was on a processor, so that other load does not
 * count, but the collector does.
 *
 * <p>Usage: BenchOriginal WARM_UP_SECONDS SECONDS FOLDER GRAPH...
 */
public final class BenchOriginal {
    private static final OperatingSystemMXBean SYSTEM =
            ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class);
    private static final int ROUND = 1000;

    private final FlowEngine engine;
    private final Graph graph;
    private final FlowContext reused;

    private BenchOriginal(Path file) throws IOException {
        engine = FlowEngine.newInstance();
        graph = Graph.fromText(Files.readString(file));
        engine.load(graph);
        reused = newContext();
        reused.enableTrace(false);
    }

    private static FlowContext newContext() {
        FlowContext context = FlowContext.of("bench");
        context.put("score", 15);
        return context;
    }

    private void evaluate(boolean reuse) {
        for (int i = 0; i < ROUND; i++) {
            engine.eval(graph, reuse ? reused : newContext());
        }
    }

    /** Evaluations per second. */
    private double rate(boolean reuse, double seconds) {
        long limit = (long) (seconds * 1e9);
        long start = SYSTEM.getProcessCpuTime();
        long elapsed = 0;
        long count = 0;
        while (elapsed < limit) {
            evaluate(reuse);
            count += ROUND;
            elapsed = SYSTEM.getProcessCpuTime() - start;
        }
        return count / (elapsed / 1e9);
    }

    private void measure(String name, String metric, boolean reuse, double warmUp,
            double seconds) {
        rate(reuse, warmUp);
        System.out.printf(Locale.ROOT,
                "{\"bench\":\"%s\",\"metric\":\"%s\",\"value\":%.1f,"
                        + "\"unit\":\"1/s\",\"by\":\"original\"}%n",
                name, metric, rate(reuse, seconds));
    }

    public static void main(String[] args) throws IOException {
        double warmUp = Double.parseDouble(args[0]);
        double seconds = Double.parseDouble(args[1]);
        for (int i = 3; i < args.length; i++) {
            BenchOriginal bench = new BenchOriginal(Path.of(args[2], args[i] + ".json"));
            bench.measure(args[i], "evaluations/s, new context", false, warmUp, seconds);
            bench.measure(args[i], "evaluations/s", true, warmUp, seconds);
        }
    }
}
