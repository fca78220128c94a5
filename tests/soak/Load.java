/*
 * Load.java - the clients of the soak test: commands at a steady rate, replies counted
 *
 * Run by tests/soak/run as a single-file Java program with Kafka's own client:
 *
 *     java -cp '<kafka libs>/*' Load.java BROKERS COMMANDS REPLIES PREFIX RATE SEED ARRIVALS
 *
 * Drives instances of the graph "five" (tests/data/system/five.yml): a chain of tasks
 * t1..t5 of the actors u1..u5.  What is sent is decided by the seed alone and not by the
 * replies: start, claim, submit forward, back, terminate, restart, set_vars; things that
 * must be rejected; the same command once more; records that are no commands.
 *
 * Every 200 ms one line on standard output: {"at":ms,"sent":n,"acked":n,"replies":n}.
 * ARRIVALS gets a line "ms partition count" for each 20 ms in which replies were read from
 * a partition.  A line on standard input, or its end, ends the sending; the program goes
 * on to count replies until it is killed or everything is answered.
 *
 * SPDX-License-Identifier: MIT
 */
import java.io.BufferedWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Random;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

public final class Load {
    static final int ACTIVE = 120;
    static final int TASKS = 5;
    static final int SLICE_MS = 20;

    static final AtomicLong sent = new AtomicLong();
    static final AtomicLong acked = new AtomicLong();
    static final AtomicLong replies = new AtomicLong();
    static final AtomicLong expected = new AtomicLong();
    static volatile boolean stopping;
    static volatile boolean finished;

    /* One instance: the values of its records, made one by one. */
    static final class Script {
        final String id;
        final Random random;
        final List<String> said = new ArrayList<>();
        int position = 1;
        int step;
        int backs;
        int afterEnd;
        boolean completed;
        boolean terminated;
        boolean done;

        Script(String id, long seed) {
            this.id = id;
            this.random = new Random(seed);
        }

        boolean chance(double p) {
            return random.nextDouble() < p;
        }

        /* The value of the next record. */
        String next() {
            if (!said.isEmpty() && chance(0.04)) {
                return said.get(random.nextInt(said.size()));
            }
            if (chance(0.005)) {
                return "no command " + id + " " + step++;
            }
            String value = command();
            said.add(value);
            return value;
        }

        String head(String command) {
            return "{\"command_id\":\"" + id + "-" + step++ + "\",\"command\":\"" + command
                + "\",\"instance_id\":\"" + id + "\",\"graph_id\":\"five\"";
        }

        String submit(int task, String action, String actor) {
            String pad = chance(0.05) ? ",\"pad\":\"" + "x".repeat(random.nextInt(3000)) + "\"" : "";
            return head("submit") + ",\"node_id\":\"t" + task + "\",\"action\":\"" + action
                + "\",\"actor\":\"" + actor + "\",\"vars\":{\"done\":" + step + pad
                + "},\"message\":\"step " + step + ": \\\"quoted\\\", \\u00e4\\u4e2d\"}";
        }

        String claim(String actor) {
            return head("claim") + ",\"actor\":\"" + actor + "\"}";
        }

        String command() {
            if (said.isEmpty()) {
                if (chance(0.8)) {
                    return head("start") + ",\"actor\":\"u0\",\"vars\":{\"number\":" + random.nextInt(1000) + "}}";
                }
                position = 2;
                return submit(1, "forward", "u1");
            }
            if (completed || terminated) {
                return commandAfterEnd();
            }
            double what = random.nextDouble();
            if (what < 0.05) {
                return submit(position == TASKS ? 1 : position + 1, "forward", "u" + position);
            }
            if (what < 0.08) {
                return submit(position, "forward", "nobody");
            }
            if (what < 0.12) {
                return claim("nobody");
            }
            if (what < 0.42) {
                return claim("u" + position);
            }
            if (what < 0.48) {
                return head("set_vars") + ",\"vars\":{\"k" + random.nextInt(3) + "\":" + step + "}}";
            }
            if (what < 0.54 && backs < 5) {
                backs++;
                String value = submit(position, "back", "u" + position);
                position = Math.max(1, position - 1);
                return value;
            }
            if (what < 0.555) {
                terminated = true;
                return submit(position, "terminate", "u" + position);
            }
            String value = submit(position, "forward", "u" + position);
            completed = position == TASKS;
            position = completed ? position : position + 1;
            return value;
        }

        String commandAfterEnd() {
            if (completed && afterEnd == 0 && chance(0.15)) {
                completed = false;
                position = 1;
                return submit(TASKS, "restart", "u" + TASKS);
            }
            done = ++afterEnd >= 3;
            return chance(0.5) ? claim("u" + position) : submit(position, "forward", "u" + position);
        }
    }

    static Properties common(String brokers) {
        Properties p = new Properties();
        p.put("bootstrap.servers", brokers);
        p.put("reconnect.backoff.ms", "50");
        p.put("reconnect.backoff.max.ms", "200");
        p.put("request.timeout.ms", "5000");
        return p;
    }

    static void count(String brokers, String topic, Path arrivals) throws Exception {
        Properties p = common(brokers);
        p.put("group.id", "soak-load");
        p.put("enable.auto.commit", "false");
        p.put("isolation.level", "read_committed");
        p.put("fetch.max.wait.ms", "50");
        p.put("auto.offset.reset", "earliest");
        ByteArrayDeserializer bytes = new ByteArrayDeserializer();
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(p, bytes, bytes);
             BufferedWriter out = Files.newBufferedWriter(arrivals)) {
            List<TopicPartition> parts = new ArrayList<>();
            consumer.partitionsFor(topic).forEach(i -> parts.add(new TopicPartition(topic, i.partition())));
            consumer.assign(parts);
            consumer.seekToBeginning(parts);
            while (!finished) {
                Map<Integer, Integer> counts = new HashMap<>();
                for (ConsumerRecord<byte[], byte[]> r : consumer.poll(Duration.ofMillis(SLICE_MS))) {
                    counts.merge(r.partition(), 1, Integer::sum);
                    replies.incrementAndGet();
                }
                long now = System.currentTimeMillis();
                for (Map.Entry<Integer, Integer> e : counts.entrySet()) {
                    out.write(now + " " + e.getKey() + " " + e.getValue() + "\n");
                }
                if (!counts.isEmpty()) {
                    out.flush();
                }
            }
        }
    }

    static void send(String brokers, String topic, String prefix, int rate, long seed) throws Exception {
        Properties p = common(brokers);
        p.put("acks", "all");
        p.put("enable.idempotence", "true");
        p.put("linger.ms", "2");
        p.put("delivery.timeout.ms", "900000");
        p.put("max.block.ms", "900000");
        Random random = new Random(seed);
        List<Script> active = new ArrayList<>();
        int made = 0;
        ByteArraySerializer bytes = new ByteArraySerializer();
        try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(p, bytes, bytes)) {
            double credit = 0;
            long last = System.nanoTime();
            while (!stopping) {
                long now = System.nanoTime();
                credit = Math.min(rate, credit + (now - last) / 1e9 * rate);
                last = now;
                while (active.size() < ACTIVE) {
                    active.add(new Script(prefix + "-" + made, seed * 1000003L + made));
                    made++;
                }
                for (; credit >= 1 && !stopping; credit -= 1) {
                    int i = random.nextInt(active.size());
                    Script script = active.get(i);
                    String value = script.next();
                    producer.send(new ProducerRecord<>(topic, script.id.getBytes(StandardCharsets.UTF_8),
                                                       value.getBytes(StandardCharsets.UTF_8)),
                                  (meta, error) -> {
                                      if (error != null) {
                                          System.err.println("a command was not delivered: " + error);
                                          System.exit(3);
                                      }
                                      acked.incrementAndGet();
                                  });
                    sent.incrementAndGet();
                    expected.addAndGet(value.startsWith("{") ? 1 : 0);
                    if (script.done) {
                        active.set(i, new Script(prefix + "-" + made, seed * 1000003L + made));
                        made++;
                    }
                }
                Thread.sleep(2);
            }
            producer.flush();
        }
    }

    static void report() {
        System.out.println("{\"at\":" + System.currentTimeMillis() + ",\"sent\":" + sent + ",\"acked\":" + acked
            + ",\"expected\":" + expected + ",\"replies\":" + replies + "}");
    }

    static Thread start(String name, boolean daemon, java.util.concurrent.Callable<Void> body) {
        Thread thread = new Thread(() -> {
            try {
                body.call();
            } catch (Exception e) {
                e.printStackTrace();
                System.exit(2);
            }
        }, name);
        thread.setDaemon(daemon);
        thread.start();
        return thread;
    }

    public static void main(String[] args) throws Exception {
        String brokers = args[0];
        Thread counter = start("replies", false, () -> {
            count(brokers, args[2], Path.of(args[6]));
            return null;
        });
        start("input", true, () -> {
            System.in.read();
            stopping = true;
            return null;
        });
        Thread sender = start("commands", false, () -> {
            send(brokers, args[1], args[3], Integer.parseInt(args[4]), Long.parseLong(args[5]));
            return null;
        });
        while (sender.isAlive() || replies.get() < expected.get()) {
            Thread.sleep(200);
            report();
        }
        finished = true;
        counter.join();
        report();
    }
}
