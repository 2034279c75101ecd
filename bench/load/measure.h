/** What processes used in a time, and latencies of calls. */
#ifndef MEASURE_H
#define MEASURE_H
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/** Maximum number of processes of a server. */
#define MAX_PROCESSES 8

/** The processes of a server: one, or several that work together. */
struct processes {
  unsigned count;
  struct {
    char name[16];
    pid_t pid;
  } of[MAX_PROCESSES];
};

/** Parses "a:4711,redis:4712"; ends the process with a message when it is something else. */
void read_processes(struct processes *processes, const char *text);

/** Room for what window_end() writes. */
#define WINDOW_TEXT 2048

struct window {
  uint64_t began, servers[MAX_PROCESSES], self, machine;
};

struct window window_begin(const struct processes *servers);

/** Writes the common fields of results to `json`, without braces and with a trailing comma. */
void window_end(const struct window *began, const struct processes *servers, char json[WINDOW_TEXT]);

/** Each latency is kept, so percentiles are exact. */
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
