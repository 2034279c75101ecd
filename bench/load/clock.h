/** Times are nanoseconds of the monotonic clock. */
#ifndef CLOCK_H
#define CLOCK_H
#include <stdint.h>
#include <time.h>

#define SECOND 1000000000ull
#define MILLISECOND 1000000ull

static inline uint64_t nanoseconds(struct timespec t) {
  return (uint64_t)t.tv_sec * SECOND + (uint64_t)t.tv_nsec;
}

static inline uint64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return nanoseconds(t);
}
#endif
