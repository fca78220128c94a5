/*
 * group.h - who is in a consumer group now
 *
 * Two questions of a worker need it: is the owner of a partition that was not given up
 * alive (then it must not be fenced), and does another process use our name (then we stop
 * and say so).
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_GROUP_H
#define BF_GROUP_H

#include "bpmflow/consumer.h"

typedef struct bf_group_options {
    const char *brokers;
    const bf_property_t *properties;
    size_t property_count;
} bf_group_options_t;

/**
 * Count the members of a group that have a client ID.
 *
 * @param ret  how many; 0 also when there is no such group
 * @return BF_OK; BF_E_TIMEOUT (no broker, or the group is just being formed, within
 *         timeout_ms); BF_E_BUS; BF_E_INVALID (a property); BF_E_NOMEM
 *
 * Blocks up to timeout_ms. Any thread.
 */
bf_status_t bf_group_count_members(const bf_group_options_t *options, const char *group,
                                   const char *client_id, int64_t timeout_ms, size_t *ret,
                                   bf_err_t *err) BF_MUST_USE;

#endif /* BF_GROUP_H */
