// SPDX-License-Identifier: MIT
/** What the benchmark asks of an engine. Used by several threads. */
interface Peer extends AutoCloseable {
    /** A new instance of the chain; its ID. */
    String start();

    /** The ID of the one task that waits, or null: the instance is over. */
    String waiting(String instance);

    void claim(String task, String user);

    void complete(String task);

    /** Instances that are not over. */
    long running();

    @Override
    void close();
}
