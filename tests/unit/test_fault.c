/*
 * test_fault.c - fault points: nothing in a normal build, on demand in a test build
 *
 * SPDX-License-Identifier: MIT
 */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bpmflow/fault.h"

#ifndef BF_FAULTS

Test(fault, point__is_nothing_in_a_normal_build)
{
    cr_assert_eq(setenv("BF_FAULT", "store.after_commit:1:kill", 1), 0);
    cr_assert_eq(BF_FAULT("store.after_commit"), BF_OK);
}

#else

/* Each test is a process of its own, so that each reads its own BF_FAULT. */
static void use(const char *spec)
{
    cr_assert_eq(setenv("BF_FAULT", spec, 1), 0);
}

Test(fault, point__counts_hits_of_its_own_name)
{
    use("a.b:2:error:E_STORE_LOST,c.d:1:error");
    cr_assert_eq(BF_FAULT("a.b"), BF_OK);
    cr_assert_eq(BF_FAULT("other"), BF_OK);
    cr_assert_eq(BF_FAULT("a.b"), BF_E_STORE_LOST);
    cr_assert_eq(BF_FAULT("a.b"), BF_OK, "once");
    cr_assert_eq(BF_FAULT("c.d"), BF_E_IO);
}

Test(fault, point__goes_on_with_a_plus)
{
    use("a.b:2+:error");
    cr_assert_eq(BF_FAULT("a.b"), BF_OK);
    cr_assert_eq(BF_FAULT("a.b"), BF_E_IO);
    cr_assert_eq(BF_FAULT("a.b"), BF_E_IO);
}

Test(fault, point__kills_for_certain, .signal = SIGKILL)
{
    use("a.b:1:kill");
    (void)!BF_FAULT("a.b");
}

Test(fault, point__exits, .exit_code = 70)
{
    use("a.b:1:exit");
    (void)!BF_FAULT("a.b");
}

Test(fault, point__refuses_a_wrong_specification, .signal = SIGABRT)
{
    use("a.b:1:kil");
    (void)!BF_FAULT("a.b");
}

#endif
