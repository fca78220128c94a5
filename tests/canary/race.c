/*
 * race.c - two threads write one counter without a lock: TSan must fail it
 *
 * SPDX-License-Identifier: MIT
 */
#include <pthread.h>
#include <stdio.h>

static long counter;

static void *add(void *arg)
{
    for (int i = 0; i < 100000; i++) {
        counter++;
    }
    return arg;
}

int main(void)
{
    pthread_t a;
    pthread_t b;
    if (pthread_create(&a, NULL, add, NULL) != 0 ||
        pthread_create(&b, NULL, add, NULL) != 0) {
        return 0;
    }
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    printf("%ld\n", counter);
    return 0;
}
