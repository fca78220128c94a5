/*
 * version.h - the one place where the version is written
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_VERSION_H
#define BF_VERSION_H

#define BF_VERSION "0.1.0"

#endif /* BF_VERSION_H */
