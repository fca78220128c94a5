/*
 * conf_jeeflow_check.h - what came of a step of an approval scenario, against `expect`
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CONF_JEEFLOW_CHECK_H
#define CONF_JEEFLOW_CHECK_H

#include "conf_jeeflow.h"

/** @param err what the operation said; its status is BF_OK where it succeeded */
void jee_check(jee_t *jee, uint32_t index, const bf_value_t *expect, const bf_err_t *err);

#endif /* CONF_JEEFLOW_CHECK_H */
