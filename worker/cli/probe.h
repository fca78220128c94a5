/*
 * probe.h - what may come next in an instance, without asking a worker
 *
 * Loads the definitions (--graphs, or graphs.paths of the configuration file) and walks
 * the instance as a worker does for find_next.  Nothing is written.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_CLI_PROBE_H
#define BF_CLI_PROBE_H

#include "bpmflow/command.h"
#include "worker/cli/cli.h"

typedef struct bf_probe bf_probe_t;

/**
 * @param ret  NULL: no definitions are named, or they are not to be read (a note says so)
 * @return BF_OK, BF_E_NOMEM
 */
bf_status_t bf_probe_new(const bf_cli_t *cli, bf_probe_t **ret,
                         bf_err_t *err) BF_MUST_USE;
/** NULL is allowed. */
void bf_probe_free(bf_probe_t *probe);

/** The next tasks of a running instance; they live as long as arena and probe.
 *  @return BF_OK (the code of the outcome may say why there are none); BF_E_NOMEM */
bf_status_t bf_probe_next(bf_probe_t *probe, bf_instance_t *inst, bf_arena_t *arena,
                          bf_outcome_t *ret, bf_err_t *err) BF_MUST_USE;

#endif /* BF_CLI_PROBE_H */
