/* other_abi.c - a library of components that was built for another ABI
 *
 * SPDX-License-Identifier: MIT
 */
#include <bpmflow/component.h>

static int init(const bf_host_t *host, bf_registrar_t *registrar)
{
    return host->refuse(registrar, "this is never called");
}

const bf_component_library_t BF_COMPONENT_LIBRARY = {
    BF_COMPONENT_ABI + 1, sizeof(bf_component_library_t), "other_abi", "1", init, 0};
