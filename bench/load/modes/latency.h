/** Latencies of calls, each of them kept, so percentiles are exact. */
#ifndef LATENCY_H
#define LATENCY_H
#include <stddef.h>
#include <stdint.h>

struct latencies {
  uint64_t *of;
  size_t count, capacity;
};

void latencies_add(struct latencies *all, uint64_t nanoseconds);

/** Sorts; call once, before latencies_at(). */
void latencies_sort(struct latencies *all);

/** Returns the nearest-rank percentile in microseconds; 0 without latencies. */
double latencies_at(const struct latencies *all, double fraction);
#endif
