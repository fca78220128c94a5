/*
 * conf_jeeflow.c - approval scenarios
 *
 * The approval layer has its own issue; until it is there the scenarios are counted as
 * skipped, never as passed.
 *
 * SPDX-License-Identifier: MIT
 */
#include "conf.h"

void conf_run_jeeflow(conf_t *conf, const bf_value_t *file)
{
    const char *name = bf_value_get_cstr(file, "name");
    conf_case_t c;
    if (conf_case_begin(conf, &c, "jeeflow", name ? name : conf->file, file)) {
        conf_skip(&c, "approval scenarios need the approval layer");
        conf_case_end(&c);
    }
}
