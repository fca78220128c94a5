/*
 * replay.c - runs one fuzz target over the files of its corpus, as a normal test
 *
 *     fuzz_expr [FILE|FOLDER...]      without: tests/fuzz/corpus/expr
 *
 * SPDX-License-Identifier: MIT
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned files;

static int run_file(const char *path)
{
    FILE *in = fopen(path, "rb");
    if (in == NULL) {
        fprintf(stderr, "replay: %s cannot be read\n", path);
        return 1;
    }
    uint8_t *data = NULL;
    size_t size = 0;
    size_t room = 0;
    size_t got = 0;
    do {
        if (size == room) {
            room = room == 0 ? 4096 : room * 2;
            uint8_t *grown = realloc(data, room);
            if (grown == NULL) {
                fprintf(stderr, "replay: out of memory at %s\n", path);
                free(data);
                fclose(in);
                return 1;
            }
            data = grown;
        }
        got = fread(data + size, 1, room - size, in);
        size += got;
    } while (got > 0);
    fclose(in);
    /* An exact copy, so that a read behind the input is seen by ASan. */
    uint8_t *exact = malloc(size > 0 ? size : 1);
    if (exact != NULL) {
        memcpy(exact, data, size);
        /* The last name printed is the input that crashed. */
        printf("%s\n", path);
        fflush(stdout);
        LLVMFuzzerTestOneInput(exact, size);
        files++;
    }
    free(exact);
    free(data);
    return exact == NULL ? 1 : 0;
}

static int run_path(const char *path)
{
    struct stat st;
    if (stat(path, &st) != 0) {
        fprintf(stderr, "replay: %s is not there\n", path);
        return 1;
    }
    if (!S_ISDIR(st.st_mode)) {
        return run_file(path);
    }
    DIR *dir = opendir(path);
    if (dir == NULL) {
        fprintf(stderr, "replay: the folder %s cannot be read\n", path);
        return 1;
    }
    int rc = 0;
    const struct dirent *entry = NULL;
    while ((entry = readdir(dir)) !=
           NULL) { /* NOLINT(concurrency-mt-unsafe): one thread */
        char name[1024];
        if (entry->d_name[0] != '.') {
            snprintf(name, sizeof(name), "%s/%s", path, entry->d_name);
            rc |= run_file(name);
        }
    }
    closedir(dir);
    return rc;
}

int main(int argc, char **argv)
{
    int rc = 0;
    for (int i = 1; i < argc; i++) {
        rc |= run_path(argv[i]);
    }
    if (argc == 1) {
        const char *slash = strrchr(argv[0], '/');
        const char *name = slash != NULL ? slash + 1 : argv[0];
        char folder[512];
        snprintf(folder, sizeof(folder), "tests/fuzz/corpus/%s",
                 strncmp(name, "fuzz_", 5) == 0 ? name + 5 : name);
        rc = run_path(folder);
    }
    if (files == 0) {
        fprintf(stderr, "replay: no input was run\n");
        rc = 1;
    }
    printf("%u inputs\n", files);
    return rc;
}
