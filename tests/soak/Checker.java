/*
 * Checker.java - reads what a soak test has left behind and counts what is wrong with it
 *
 * Shares no code with the product: Kafka's Java client, Jackson (both among Kafka's jars)
 * and text files.  Run by tests/soak/run as a single-file program:
 *
 *     java -cp '<kafka libs>/*' Checker.java dump BROKERS GROUP DIR COMMANDS REPLIES EVENTS DEAD
 *     java -cp '<kafka libs>/*' Checker.java check DIR...
 *
 * dump reads the four topics to their ends with read_committed, and where their ends and
 * the group's offsets are, into files in DIR.  The tables are put beside them as
 * tab-separated text by the mariadb client.  check compares all of that with a model of
 * the graph "five": what each command must have done when each is applied once, in the
 * order of the topic.  It prints one line of JSON for each DIR, examples go to
 * DIR/findings.txt, and the exit status is 0 when nothing was found.
 *
 * SPDX-License-Identifier: MIT
 */
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Properties;
import java.util.Set;
import java.util.TreeMap;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

public final class Checker {
    static final ObjectMapper JSON = new ObjectMapper();

    /* What can be found, in the order in which it is printed. */
    static final String[] KINDS = {
        "commands_lost", "applied_twice", "wrong_outcome", "wrong_state", "instances_lost", "rows_lost",
        "rows_differ", "rows_extra", "events_lost", "events_duplicated", "events_extra", "events_out_of_order",
        "events_differ", "replies_missing", "replies_duplicated", "replies_other_bytes", "replies_out_of_order",
        "replies_differ", "dead_letters_missing", "dead_letters_duplicated", "dead_letters_extra",
        "open_transactions", "partitions_stuck",
    };

    // ------------------------------------------------------------------ dump

    static Properties consumer(String brokers, String isolation) {
        Properties p = new Properties();
        p.put("bootstrap.servers", brokers);
        p.put("isolation.level", isolation);
        p.put("enable.auto.commit", "false");
        p.put("auto.offset.reset", "none");
        p.put("key.deserializer", ByteArrayDeserializer.class.getName());
        p.put("value.deserializer", ByteArrayDeserializer.class.getName());
        return p;
    }

    static String text(byte[] bytes) {
        return bytes == null ? null : new String(bytes, StandardCharsets.UTF_8);
    }

    static void writeRecord(BufferedWriter out, ConsumerRecord<byte[], byte[]> r) throws IOException {
        ObjectNode line = JSON.createObjectNode();
        line.put("p", r.partition()).put("o", r.offset()).put("t", r.timestamp());
        line.put("k", text(r.key())).put("v", text(r.value()));
        ObjectNode headers = line.putObject("h");
        for (Header h : r.headers()) {
            headers.put(h.key(), text(h.value()));
        }
        out.write(JSON.writeValueAsString(line));
        out.write('\n');
    }

    static void dumpTopic(KafkaConsumer<byte[], byte[]> consumer, Map<TopicPartition, Long> ends, Path file)
        throws IOException {
        consumer.assign(ends.keySet());
        consumer.seekToBeginning(ends.keySet());
        try (BufferedWriter out = Files.newBufferedWriter(file)) {
            boolean more = true;
            while (more) {
                for (ConsumerRecord<byte[], byte[]> r : consumer.poll(Duration.ofMillis(200))) {
                    if (r.offset() < ends.get(new TopicPartition(r.topic(), r.partition()))) {
                        writeRecord(out, r);
                    }
                }
                more = ends.entrySet().stream().anyMatch(e -> consumer.position(e.getKey()) < e.getValue());
            }
        }
    }

    static void dump(String brokers, String group, Path dir, String[] topics) throws Exception {
        String[] names = {"commands", "replies", "events", "dead"};
        ObjectNode ends = JSON.createObjectNode();
        try (KafkaConsumer<byte[], byte[]> committed = new KafkaConsumer<>(consumer(brokers, "read_committed"));
             KafkaConsumer<byte[], byte[]> all = new KafkaConsumer<>(consumer(brokers, "read_uncommitted"))) {
            for (int i = 0; i < names.length; i++) {
                String topic = topics[i];
                List<TopicPartition> parts = new ArrayList<>();
                committed.partitionsFor(topic).forEach(p -> parts.add(new TopicPartition(topic, p.partition())));
                Map<TopicPartition, Long> stable = committed.endOffsets(parts);
                Map<TopicPartition, Long> high = all.endOffsets(parts);
                ObjectNode node = ends.putObject(names[i]);
                for (TopicPartition p : parts) {
                    node.putObject("" + p.partition()).put("stable", stable.get(p)).put("high", high.get(p));
                }
                dumpTopic(committed, stable, dir.resolve(names[i] + ".jsonl"));
            }
        }
        Properties p = new Properties();
        p.put("bootstrap.servers", brokers);
        try (Admin admin = Admin.create(p)) {
            ObjectNode node = ends.putObject("group");
            admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get().forEach((part, offset) -> {
                if (part.topic().equals(topics[0]) && offset != null) {
                    node.put("" + part.partition(), offset.offset());
                }
            });
        }
        Files.writeString(dir.resolve("ends.json"), JSON.writeValueAsString(ends));
    }

    // ------------------------------------------------------------------ what was dumped

    static final class Rec {
        int partition;
        long offset;
        String key;
        String value;
        JsonNode headers;
        JsonNode json; /* null = no object */
    }

    static List<Rec> readRecords(Path file) throws IOException {
        List<Rec> list = new ArrayList<>();
        try (BufferedReader in = Files.newBufferedReader(file)) {
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                JsonNode node = JSON.readTree(line);
                Rec r = new Rec();
                r.partition = node.get("p").asInt();
                r.offset = node.get("o").asLong();
                r.key = node.get("k").isNull() ? null : node.get("k").asText();
                r.value = node.get("v").isNull() ? null : node.get("v").asText();
                r.headers = node.get("h");
                try {
                    JsonNode value = r.value == null ? null : JSON.readTree(r.value);
                    r.json = value != null && value.isObject() ? value : null;
                } catch (IOException e) {
                    r.json = null;
                }
                list.add(r);
            }
        }
        list.sort((a, b) -> a.partition != b.partition ? Integer.compare(a.partition, b.partition)
                                                       : Long.compare(a.offset, b.offset));
        return list;
    }

    static String unescape(String text) {
        if (text.indexOf('\\') < 0) {
            return text;
        }
        StringBuilder out = new StringBuilder();
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (c != '\\' || i + 1 == text.length()) {
                out.append(c);
                continue;
            }
            char next = text.charAt(++i);
            out.append(next == 't' ? '\t' : next == 'n' ? '\n' : next == '0' ? '\0' : next);
        }
        return out.toString();
    }

    /* Rows by column name; NULL becomes null. */
    static List<Map<String, String>> readTable(Path file) throws IOException {
        List<Map<String, String>> rows = new ArrayList<>();
        try (BufferedReader in = Files.newBufferedReader(file)) {
            String first = in.readLine();
            if (first == null) {
                return rows; /* the client writes no header for no rows */
            }
            String[] names = first.split("\t", -1);
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                String[] fields = line.split("\t", -1);
                Map<String, String> row = new HashMap<>();
                for (int i = 0; i < names.length; i++) {
                    row.put(names[i], fields[i].equals("NULL") ? null : unescape(fields[i]));
                }
                rows.add(row);
            }
        }
        return rows;
    }

    // ------------------------------------------------------------------ the model

    /* A row of the history, as it must be. */
    record Step(int action, String source, String target, int status, int state, String actor, String vars,
                String message, String commandId) {}

    record Outcome(String code, boolean duplicate, int firstSeq, int lastSeq, int state) {}

    static final class Instance {
        static final int TASKS = 5;
        boolean exists;
        int position = 1;
        int status; /* 0 running, 1 completed, 2 terminated */
        final Map<String, Integer> states = new TreeMap<>();
        final ObjectNode vars = JSON.createObjectNode();
        final List<Step> history = new ArrayList<>();
        final Map<String, Outcome> seen = new HashMap<>();

        Outcome apply(JsonNode c) {
            String id = c.get("command_id").asText();
            Outcome first = seen.get(id);
            if (first != null) {
                return new Outcome(first.code, true, 0, 0, first.state);
            }
            int before = history.size();
            String code = decide(c, c.get("command").asText());
            int after = history.size();
            Outcome outcome = new Outcome(code, false, after > before ? before + 1 : 0, after > before ? after : 0, status);
            seen.put(id, outcome);
            return outcome;
        }

        String ended() {
            return status == 1 ? "instance_completed" : status == 2 ? "instance_terminated" : null;
        }

        String decide(JsonNode c, String command) {
            boolean existed = exists;
            exists = true;
            switch (command) {
            case "start":
                if (existed) {
                    return "instance_exists";
                }
                vars.setAll((ObjectNode) c.get("vars"));
                return "ok";
            case "claim":
                if (status == 0 && c.get("actor").asText().equals("u" + position)) {
                    states.put("five:t" + position, 1001);
                }
                return status == 2 ? ended() : "ok";
            case "set_vars":
                if (ended() == null) {
                    vars.setAll((ObjectNode) c.get("vars"));
                }
                return ended() == null ? "ok" : ended();
            default:
                return submit(c, c.get("action").asText());
            }
        }

        String submit(JsonNode c, String action) {
            String task = "t" + position;
            String actor = c.get("actor").asText();
            if (action.equals("restart")) {
                merge(c);
                states.clear();
                position = 1;
                status = 0;
                add(c, 1040, c.get("node_id").asText(), "t1", 0);
                return "ok";
            }
            if (ended() != null) {
                return ended();
            }
            if (!c.get("node_id").asText().equals(task)) {
                return "not_waiting";
            }
            if (!actor.equals("u" + position)) {
                return "not_operable";
            }
            merge(c);
            if (action.equals("back")) {
                states.remove("five:" + task);
                position = Math.max(1, position - 1);
                states.remove("five:t" + position);
                add(c, 1010, task, "t" + position, 1001);
            } else if (action.equals("terminate")) {
                states.put("five:" + task, 1003);
                status = 2;
                add(c, 1030, task, task, 1003);
            } else {
                states.put("five:" + task, 1002);
                status = position == TASKS ? 1 : 0;
                position += 1;
                add(c, 1020, task, status == 1 ? "e" : "t" + position, 1002);
            }
            return "ok";
        }

        void merge(JsonNode c) {
            vars.setAll((ObjectNode) c.get("vars"));
        }

        void add(JsonNode c, int action, String source, String target, int rowStatus) {
            history.add(new Step(action, source, target, rowStatus, status, c.get("actor").asText(), vars.toString(),
                                 c.get("message").asText(), c.get("command_id").asText()));
        }
    }

    // ------------------------------------------------------------------ check

    static final class Check {
        final Path dir;
        final Map<String, Integer> counts = new LinkedHashMap<>();
        final PrintWriter examples;
        final Map<String, Instance> model = new HashMap<>();
        /* by instance: bytes of the replies that must be there, in order */
        final Map<String, List<String>> wanted = new HashMap<>();
        List<Rec> commands;
        List<Rec> replies;
        List<Rec> events;
        List<Rec> dead;
        List<Map<String, String>> tasks;
        JsonNode ends;

        Check(Path dir) throws IOException {
            this.dir = dir;
            for (String kind : KINDS) {
                counts.put(kind, 0);
            }
            examples = new PrintWriter(Files.newBufferedWriter(dir.resolve("findings.txt")));
        }

        void found(String kind, String format, Object... args) {
            int n = counts.merge(kind, 1, Integer::sum);
            if (n <= 20) {
                examples.println(kind + ": " + String.format(format, args));
            }
        }

        static String place(int partition, long offset) {
            return partition + "/" + offset;
        }

        void run() throws IOException {
            commands = readRecords(dir.resolve("commands.jsonl"));
            replies = readRecords(dir.resolve("replies.jsonl"));
            events = readRecords(dir.resolve("events.jsonl"));
            dead = readRecords(dir.resolve("dead.jsonl"));
            tasks = readTable(dir.resolve("task.tsv"));
            ends = JSON.readTree(Files.readString(dir.resolve("ends.json")));
            checkCommands(readTable(dir.resolve("command.tsv")));
            checkRows();
            checkInstances(readTable(dir.resolve("repository.tsv")));
            checkEvents();
            checkReplies();
            checkDeadLetters();
            checkEnds(readTable(dir.resolve("offset.tsv")));
            examples.close();
        }

        /* Each record of the topic has one outcome, and it is the one of the model. */
        void checkCommands(List<Map<String, String>> table) {
            Map<String, Map<String, String>> rows = new HashMap<>();
            for (Map<String, String> row : table) {
                rows.put(row.get("partition_no") + "/" + row.get("command_offset"), row);
            }
            for (Rec c : commands) {
                Map<String, String> row = rows.remove(place(c.partition, c.offset));
                Outcome outcome = null;
                if (c.json != null) {
                    outcome = model.computeIfAbsent(c.key, k -> new Instance()).apply(c.json);
                }
                if (row == null) {
                    found("commands_lost", "%s %s: %s", place(c.partition, c.offset), c.key, c.value);
                } else if (outcome == null) {
                    checkDeadRow(c, row);
                } else {
                    checkOutcome(c, row, outcome);
                }
            }
            for (String extra : rows.keySet()) {
                found("wrong_outcome", "%s: an outcome of a record that is not in the topic", extra);
            }
        }

        void checkDeadRow(Rec c, Map<String, String> row) {
            if (!"dead_letter".equals(row.get("command"))) {
                found("wrong_outcome", "%s: not taken for a dead letter: %s", place(c.partition, c.offset), row);
            }
        }

        void checkOutcome(Rec c, Map<String, String> row, Outcome outcome) {
            String id = outcome.duplicate ? null : c.json.get("command_id").asText();
            boolean same = outcome.code.equals(row.get("code")) && c.key.equals(row.get("instant_id"))
                && Objects.equals(id, row.get("command_id"))
                && ("" + outcome.firstSeq).equals(row.get("first_seq"))
                && ("" + outcome.lastSeq).equals(row.get("last_seq"));
            if (!same) {
                found("wrong_outcome", "%s %s: expected %s, the row is %s", place(c.partition, c.offset), c.value,
                      outcome, row);
            }
            String reply = row.get("reply");
            checkReplyText(c, reply, outcome);
            wanted.computeIfAbsent(c.key, k -> new ArrayList<>()).add(reply);
        }

        void checkReplyText(Rec c, String reply, Outcome outcome) {
            try {
                JsonNode r = JSON.readTree(reply);
                String[] state = {"running", "completed", "terminated"};
                boolean same = r.get("command_id").asText().equals(c.json.get("command_id").asText())
                    && r.get("instance_id").asText().equals(c.key) && r.get("code").asText().equals(outcome.code)
                    && r.get("duplicate").asBoolean() == outcome.duplicate
                    && r.get("status").asText().equals(outcome.code.equals("ok") ? "accepted" : "rejected")
                    && r.get("instance_state").asText().equals(state[outcome.state]);
                if (!same) {
                    found("replies_differ", "%s %s: expected %s, got %s", place(c.partition, c.offset), c.value, outcome,
                          reply);
                }
            } catch (IOException | RuntimeException e) {
                found("replies_differ", "%s: %s is no reply", place(c.partition, c.offset), reply);
            }
        }

        /* The history is the one of the model: nothing twice, nothing missing. */
        void checkRows() {
            Map<String, Map<Integer, Map<String, String>>> byInstance = new HashMap<>();
            for (Map<String, String> row : tasks) {
                byInstance.computeIfAbsent(row.get("flow_ins_id"), k -> new TreeMap<>())
                    .put(Integer.parseInt(row.get("seq")), row);
            }
            for (Map.Entry<String, Instance> e : model.entrySet()) {
                Map<Integer, Map<String, String>> rows = byInstance.remove(e.getKey());
                checkHistory(e.getKey(), e.getValue().history, rows == null ? Collections.emptyMap() : rows);
            }
            for (Map.Entry<String, Map<Integer, Map<String, String>>> e : byInstance.entrySet()) {
                found("rows_extra", "%s has %d rows and no command", e.getKey(), e.getValue().size());
            }
        }

        void checkHistory(String id, List<Step> steps, Map<Integer, Map<String, String>> rows) {
            Set<String> applied = new HashSet<>();
            for (int seq = 1; seq <= steps.size(); seq++) {
                Map<String, String> row = rows.get(seq);
                applied.add(steps.get(seq - 1).commandId);
                if (row == null) {
                    found("rows_lost", "%s/%d: %s", id, seq, steps.get(seq - 1));
                } else if (!sameRow(steps.get(seq - 1), row)) {
                    found("rows_differ", "%s/%d: expected %s, the row is %s", id, seq, steps.get(seq - 1), row);
                }
            }
            for (Map.Entry<Integer, Map<String, String>> e : rows.entrySet()) {
                if (e.getKey() < 1 || e.getKey() > steps.size()) {
                    String kind = applied.contains(e.getValue().get("command_id")) ? "applied_twice" : "rows_extra";
                    found(kind, "%s/%d: %s", id, e.getKey(), e.getValue());
                }
            }
        }

        static boolean sameRow(Step step, Map<String, String> row) {
            return ("" + step.action).equals(row.get("action")) && step.source.equals(row.get("source_node_code"))
                && step.target.equals(row.get("target_node_code")) && ("" + step.status).equals(row.get("status"))
                && ("" + step.state).equals(row.get("instance_state")) && step.actor.equals(row.get("assignee"))
                && sameJson(step.vars, row.get("variables")) && step.message.equals(row.get("message"))
                && step.commandId.equals(row.get("command_id"));
        }

        static boolean sameJson(String a, String b) {
            try {
                return a != null && b != null && JSON.readTree(a).equals(JSON.readTree(b));
            } catch (IOException e) {
                return false;
            }
        }

        void checkInstances(List<Map<String, String>> table) {
            Map<String, Map<String, String>> rows = new HashMap<>();
            for (Map<String, String> row : table) {
                rows.put(row.get("instant_id"), row);
            }
            for (Map.Entry<String, Instance> e : model.entrySet()) {
                Map<String, String> row = rows.remove(e.getKey());
                Instance i = e.getValue();
                /* An instance of which everything was rejected has no row, or an empty one. */
                if (row == null) {
                    if (!i.states.isEmpty() || !i.vars.isEmpty() || !i.history.isEmpty()) {
                        found("instances_lost", "%s", e.getKey());
                    }
                } else if (!("" + i.status).equals(row.get("status")) || !("" + i.history.size()).equals(row.get("seq"))
                           || !sameJson(i.vars.toString(), row.get("vars"))
                           || !sameJson(statesOf(i), row.get("states"))) {
                    found("wrong_state", "%s: expected status %d, seq %d, vars %s, states %s; the row is %s", e.getKey(),
                          i.status, i.history.size(), i.vars, statesOf(i), row);
                }
            }
            for (String extra : rows.keySet()) {
                found("wrong_state", "%s: an instance that no command has made", extra);
            }
        }

        static String statesOf(Instance i) {
            ObjectNode node = JSON.createObjectNode();
            i.states.forEach(node::put);
            return node.toString();
        }

        /* One event a row, with its content, in the order of seq. */
        void checkEvents() {
            Map<String, Map<String, String>> rows = new HashMap<>();
            for (Map<String, String> row : tasks) {
                rows.put(row.get("flow_ins_id") + "/" + row.get("seq"), row);
            }
            Set<String> seen = new HashSet<>();
            Map<String, Long> lastSeq = new HashMap<>();
            Map<String, Integer> home = new HashMap<>();
            for (Rec e : events) {
                String id = e.json == null ? "" : e.json.path("event_id").asText();
                Map<String, String> row = rows.get(id);
                String instance = e.json == null ? "" : e.json.path("instance_id").asText();
                if (row == null) {
                    found("events_extra", "%s: %s", place(e.partition, e.offset), e.value);
                    continue;
                }
                if (!seen.add(id)) {
                    found("events_duplicated", "%s at %s", id, place(e.partition, e.offset));
                    continue;
                }
                long seq = e.json.path("seq").asLong();
                if (seq <= lastSeq.getOrDefault(instance, 0L)
                    || home.merge(instance, e.partition, (a, b) -> a) != e.partition) {
                    found("events_out_of_order", "%s at %s", id, place(e.partition, e.offset));
                }
                lastSeq.merge(instance, seq, Math::max);
                if (!sameEvent(e, row)) {
                    found("events_differ", "%s at %s: %s, the row is %s", id, place(e.partition, e.offset), e.value, row);
                }
            }
            for (String id : rows.keySet()) {
                if (!seen.contains(id)) {
                    found("events_lost", "%s: %s", id, rows.get(id));
                }
            }
        }

        static boolean same(String text, JsonNode node) {
            return text == null ? node == null || node.isNull() : node != null && text.equals(node.asText());
        }

        static boolean sameEvent(Rec event, Map<String, String> row) {
            JsonNode e = event.json;
            Map<String, String> actions = Map.of("1010", "back", "1020", "forward", "1030", "terminate", "1040", "restart");
            String[] states = {"running", "completed", "terminated"};
            String time = row.get("create_time").replace(' ', 'T') + "Z";
            return row.get("flow_ins_id").equals(event.key) && same(row.get("flow_ins_id"), e.get("instance_id"))
                && same(row.get("seq"), e.get("seq")) && same(row.get("proc_def_id"), e.get("graph_id"))
                && same(row.get("graph_version"), e.get("graph_version")) && same(row.get("task_id"), e.get("task_id"))
                && same(actions.get(row.get("action")), e.get("action"))
                && sameNode(row, "source", e.get("source")) && sameNode(row, "target", e.get("target"))
                && same(row.get("assignee"), e.get("assignee")) && same(row.get("status"), e.get("status"))
                && same(row.get("form_id"), e.get("form_id")) && same(row.get("message"), e.get("message"))
                && row.get("variables").equals(e.get("variables").toString())
                && same(states[Integer.parseInt(row.get("instance_state"))], e.get("instance_state"))
                && same(row.get("command_id"), e.get("command_id")) && same(row.get("creator"), e.get("creator"))
                && same(time, e.get("create_time")) && same(time, event.headers.get("ce_time"))
                && same(row.get("flow_ins_id") + "/" + row.get("seq"), event.headers.get("ce_id"));
        }

        static boolean sameNode(Map<String, String> row, String which, JsonNode node) {
            return node != null && same(row.get(which + "_node_code"), node.get("code"))
                && same(row.get(which + "_node_name"), node.get("name"))
                && same(row.get(which + "_node_type"), node.get("type"));
        }

        /* As many replies as outcomes, the same bytes, in the same order within an instance. */
        void checkReplies() {
            Map<String, List<Rec>> got = new HashMap<>();
            for (Rec r : replies) {
                got.computeIfAbsent(r.key, k -> new ArrayList<>()).add(r);
            }
            for (Map.Entry<String, List<String>> e : wanted.entrySet()) {
                List<Rec> list = got.remove(e.getKey());
                checkRepliesOf(e.getKey(), e.getValue(), list == null ? Collections.emptyList() : list);
            }
            got.forEach((key, list) -> list.forEach(r -> found("replies_other_bytes", "%s: %s", key, r.value)));
        }

        void checkRepliesOf(String id, List<String> want, List<Rec> got) {
            Map<String, Integer> open = new HashMap<>();
            want.forEach(w -> open.merge(w, 1, Integer::sum));
            Set<String> known = new HashSet<>(want);
            List<String> order = new ArrayList<>();
            for (Rec r : got) {
                if (!known.contains(r.value)) {
                    found("replies_other_bytes", "%s at %s: %s", id, place(r.partition, r.offset), r.value);
                } else if (open.get(r.value) == 0) {
                    found("replies_duplicated", "%s at %s: %s", id, place(r.partition, r.offset), r.value);
                } else {
                    open.merge(r.value, -1, Integer::sum);
                    order.add(r.value);
                }
            }
            open.forEach((value, n) -> {
                for (int i = 0; i < n; i++) {
                    found("replies_missing", "%s: %s", id, value);
                }
            });
            List<String> left = new ArrayList<>(want);
            open.forEach((value, n) -> {
                for (int i = 0; i < n; i++) {
                    left.remove(left.lastIndexOf(value));
                }
            });
            if (!left.equals(order)) {
                found("replies_out_of_order", "%s: expected %s, got %s", id, left, order);
            }
        }

        void checkDeadLetters() {
            Map<String, Rec> open = new HashMap<>();
            Set<String> answered = new HashSet<>();
            for (Rec c : commands) {
                if (c.json == null) {
                    open.put(place(c.partition, c.offset), c);
                }
            }
            for (Rec d : dead) {
                String at = d.headers.path("bpmflow_partition").asText() + "/" + d.headers.path("bpmflow_offset").asText();
                Rec c = open.get(at);
                if (c == null || !Objects.equals(c.key, d.key) || !Objects.equals(c.value, d.value)) {
                    found("dead_letters_extra", "%s: %s", at, d.value);
                } else if (!answered.add(at)) {
                    found("dead_letters_duplicated", "%s: %s", at, d.value);
                }
            }
            open.keySet().removeAll(answered);
            open.forEach((at, c) -> found("dead_letters_missing", "%s: %s", at, c.value));
        }

        /* Everything is read, applied and published, and no transaction is left open. */
        void checkEnds(List<Map<String, String>> table) {
            Map<String, String> applied = new HashMap<>();
            table.forEach(row -> applied.put(row.get("partition_no"), row.get("next_offset")));
            for (String topic : List.of("replies", "events", "dead")) {
                ends.get(topic).properties().forEach(e -> {
                    if (e.getValue().get("stable").asLong() < e.getValue().get("high").asLong()) {
                        found("open_transactions", "%s/%s: %s", topic, e.getKey(), e.getValue());
                    }
                });
            }
            ends.get("commands").properties().forEach(e -> {
                String high = e.getValue().get("high").asText();
                String done = applied.getOrDefault(e.getKey(), "0");
                String published = ends.get("group").path(e.getKey()).asText("0");
                if (!high.equals(done) || !high.equals(published)) {
                    found("partitions_stuck", "partition %s ends at %s, applied up to %s, published up to %s", e.getKey(),
                          high, done, published);
                }
            });
        }

        ObjectNode result() {
            ObjectNode node = JSON.createObjectNode();
            node.put("dir", dir.toString()).put("commands", commands.size()).put("instances", model.size());
            node.put("rows", tasks.size()).put("events", events.size()).put("replies", replies.size());
            node.put("dead_letters", dead.size());
            ObjectNode kinds = node.putObject("findings");
            counts.forEach(kinds::put);
            node.put("total", counts.values().stream().mapToInt(Integer::intValue).sum());
            return node;
        }
    }

    public static void main(String[] args) throws Exception {
        if (args.length == 8 && args[0].equals("dump")) {
            dump(args[1], args[2], Path.of(args[3]), new String[] {args[4], args[5], args[6], args[7]});
            return;
        }
        if (args.length < 2 || !args[0].equals("check")) {
            System.err.println("usage: Checker.java dump BROKERS GROUP DIR COMMANDS REPLIES EVENTS DEAD\n"
                               + "       Checker.java check DIR...");
            System.exit(2);
        }
        boolean clean = true;
        for (int i = 1; i < args.length; i++) {
            Check check = new Check(Path.of(args[i]));
            check.run();
            ObjectNode result = check.result();
            System.out.println(JSON.writeValueAsString(result));
            clean &= result.get("total").asInt() == 0;
        }
        System.exit(clean ? 0 : 1);
    }
}
