/*
 * conf_facade_none.c - holds the place of conf_facade.c: every request fails by name
 *
 * SPDX-License-Identifier: MIT
 */
#include "conf_jeeflow.h"

#define UNLESS_THERE __attribute__((weak))

UNLESS_THERE void conf_facade_begin(jee_t *jee)
{
    (void)jee;
}

UNLESS_THERE bf_status_t conf_facade_run(jee_t *jee, const bf_value_t *step,
                                         const bf_value_t **ret_data, bf_err_t *err)
{
    (void)ret_data;
    const char *action = bf_value_get_cstr(step, "action");
    conf_fail(jee->c, "%s: the facade is not linked: %s", jee->where,
              action ? action : "no action");
    return bf_err_set(err, BF_E_UNSUPPORTED, "the facade is not linked");
}

UNLESS_THERE void conf_facade_check(jee_t *jee, uint32_t index, const bf_value_t *checks)
{
    (void)jee;
    (void)index;
    (void)checks;
}

UNLESS_THERE void conf_facade_end(jee_t *jee)
{
    (void)jee;
}
