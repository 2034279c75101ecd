#include "measure.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "connection.h"

void read_processes(struct processes *processes, const char *text) {
  for (int used = 0; *text != 0; text += text[used] == ',' ? used + 1 : used) {
    unsigned i = processes->count++;
    if (i == MAX_PROCESSES || sscanf(text, "%15[a-z]:%d%n", processes->of[i].name,
                                     &processes->of[i].pid, &used) != 2) {
      fprintf(stderr, "Not a list of at most %d processes: %s\n", MAX_PROCESSES, text);
      exit(2);
    }
  }
}

/** Returns the CPU time of all threads of a process, including ended ones, in nanoseconds. */
static uint64_t cpu_of(pid_t pid) {
  clockid_t clock;
  struct timespec t;
  if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &t) != 0) {
    fprintf(stderr, "Cannot read the CPU time of process %d\n", (int)pid);
    exit(1);
  }
  return nanoseconds(t);
}

/** Returns the busy time of all processors since boot in nanoseconds, exact to a hundredth of a second. */
static uint64_t cpu_of_machine(void) {
  // user, nice, system, idle, iowait, irq, softirq, steal
  unsigned long long ticks[8] = {0};
  FILE *file = fopen("/proc/stat", "r");
  if (file == NULL) return 0;
  int found = fscanf(file, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &ticks[0], &ticks[1],
                     &ticks[2], &ticks[3], &ticks[4], &ticks[5], &ticks[6], &ticks[7]);
  fclose(file);
  if (found != 8) return 0;
  unsigned long long busy = ticks[0] + ticks[1] + ticks[2] + ticks[5] + ticks[6] + ticks[7];
  return busy * (SECOND / (uint64_t)sysconf(_SC_CLK_TCK));
}

struct window window_begin(const struct processes *servers) {
  struct window window = {.began = now(), .self = cpu_of(getpid()), .machine = cpu_of_machine()};
  for (unsigned i = 0; i < servers->count; i++) window.servers[i] = cpu_of(servers->of[i].pid);
  return window;
}

static double seconds(uint64_t from, uint64_t to) { return (double)(to - from) / SECOND; }

void window_end(const struct window *began, const struct processes *servers, char json[WINDOW_TEXT]) {
  struct window end = window_begin(servers);
  double all = 0;
  int at = snprintf(json, WINDOW_TEXT, "\"cpuSeconds\":{");
  for (unsigned i = 0; i < servers->count; i++) {
    double used = seconds(began->servers[i], end.servers[i]);
    all += used;
    at += snprintf(json + at, WINDOW_TEXT - (size_t)at,
      "%s\"%s\":%.6f", i == 0 ? "" : ",", servers->of[i].name, used);
  }
  double self = seconds(began->self, end.self);
  double others = seconds(began->machine, end.machine) - all - self;
  snprintf(json + at, WINDOW_TEXT - (size_t)at,
    "},\"seconds\":%.6f,\"serverCpuSeconds\":%.6f,\"generatorCpuSeconds\":%.6f,\"othersCpuSeconds\":%.2f,",
    seconds(began->began, end.began), all, self, others > 0 ? others : 0);
}

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
