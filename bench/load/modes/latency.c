#include "modes/latency.h"

#include <stdlib.h>

void latencies_add(struct latencies *all, uint64_t nanoseconds) {
  if (all->count == all->capacity) {
    all->capacity = all->capacity == 0 ? 65536 : all->capacity * 2;
    all->of = realloc(all->of, all->capacity * sizeof *all->of);
    if (all->of == NULL) abort();
  }
  all->of[all->count++] = nanoseconds;
}

static int compare(const void *a, const void *b) {
  uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
  return (left > right) - (left < right);
}

void latencies_sort(struct latencies *all) {
  if (all->count > 0) qsort(all->of, all->count, sizeof *all->of, compare);
}

double latencies_at(const struct latencies *all, double fraction) {
  if (all->count == 0) return 0;
  double rank = fraction * (double)all->count;
  size_t index = (size_t)rank;
  if ((double)index == rank && index > 0) index--;
  if (index >= all->count) index = all->count - 1;
  return (double)all->of[index] / 1000;
}
