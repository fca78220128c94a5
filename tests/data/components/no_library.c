/* no_library.c - a shared object that is no library of components
 *
 * SPDX-License-Identifier: MIT
 */
int bf_nothing(void);
int bf_nothing(void)
{
    return 0;
}
