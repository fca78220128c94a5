/*
 * bus.h - helpers for tests of the bus: topics on a real broker, publications, records
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_TEST_BUS_H
#define BF_TEST_BUS_H

#include "bpmflow/consumer.h"
#include "bpmflow/publisher.h"
#include "bpmflow/reader.h"

#define TEST_TIMEOUT_MS 30000

/** Address of the real broker; without one the running test is skipped. */
const char *test_kafka(void);

/** "<prefix>-<random>", to be freed. */
char *test_name(const char *prefix);

/** Create a topic on a real broker; a failure fails the test. */
void test_topic_create(const char *brokers, const char *topic, int partitions);
void test_topic_delete(const char *brokers, const char *topic);
/** Give a topic more partitions. */
void test_topic_grow(const char *brokers, const char *topic, int partitions);
/** Remove the records before the offset, as retention does. */
void test_topic_trim(const char *brokers, const char *topic, int partition,
                     int64_t offset);

/* A publication that frees itself: `count` messages "<prefix>-<i>" with key "k". */
typedef struct test_publication {
    bf_publication_t publication;
    bf_message_t *messages;
    bf_header_t header;
    bf_topic_partition_t offset;
    int *released; /* counted up; may be NULL */
} test_publication_t;

test_publication_t *test_publication(const char *topic, const char *prefix, size_t count,
                                     int *released);
/** One offset of a partition; the metadata moves in. */
void test_publication_offset(test_publication_t *own, const char *topic, int partition,
                             int64_t offset, bf_group_metadata_t *group);

/** Submit it; a failure fails the test. */
void test_submit(bf_publisher_t *publisher, test_publication_t *own);
/** All that was submitted is published, or the test fails. */
void test_drain(bf_publisher_t *publisher);

/** Take all partitions from their beginning: for on_assign. */
void test_assign(bf_consumer_t *consumer, const bf_topic_partition_t *partitions,
                 size_t count);
/** Poll until *assigned (set by on_assign) is `count`; records on the way are dropped. */
void test_wait_assigned(bf_consumer_t *consumer, const int *assigned, int count);

/** Produce raw records (values "<prefix>-<i>", key "k") without the library. */
void test_produce(const char *brokers, const char *topic, int partition,
                  const char *prefix, int count);

/** All values of a topic as one text, sorted by partition and offset, separated by
 *  blanks; read_committed. To be freed. */
char *test_read_all(const char *brokers, const char *topic);

#endif /* BF_TEST_BUS_H */
