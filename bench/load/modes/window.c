#include "modes/window.h"

#include <stdio.h>
#include <unistd.h>

#include "clock.h"

struct window window_begin(const struct processes *servers) {
  struct window window = {.began = now(), .self = cpu_of(getpid()), .machine = cpu_of_machine()};
  for (unsigned i = 0; i < servers->count; i++) window.servers[i] = cpu_of(servers->of[i].pid);
  return window;
}

static double seconds(uint64_t from, uint64_t to) { return (double)(to - from) / SECOND; }

void window_end(const struct window *began, const struct processes *servers, char json[WINDOW_TEXT]) {
  struct window end = window_begin(servers);
  double all = 0;
  int at = snprintf(json, WINDOW_TEXT, "\"processes\":{");
  for (unsigned i = 0; i < servers->count; i++) {
    double used = seconds(began->servers[i], end.servers[i]);
    all += used;
    at += snprintf(json + at, WINDOW_TEXT - (size_t)at,
      "%s\"%s\":{\"cpuSeconds\":%.6f,\"rssBytes\":%llu,\"peakRssBytes\":%llu}",
      i == 0 ? "" : ",", servers->of[i].name, used,
      (unsigned long long)memory_of(servers->of[i].pid, "VmRSS"),
      (unsigned long long)memory_of(servers->of[i].pid, "VmHWM"));
  }
  double self = seconds(began->self, end.self);
  double others = seconds(began->machine, end.machine) - all - self;
  snprintf(json + at, WINDOW_TEXT - (size_t)at,
    "},\"seconds\":%.6f,\"serverCpuSeconds\":%.6f,\"generatorCpuSeconds\":%.6f,\"othersCpuSeconds\":%.2f,"
    "\"rssBytes\":%llu,\"peakRssBytes\":%llu,",
    seconds(began->began, end.began), all, self, others > 0 ? others : 0,
    (unsigned long long)memory_of_all(servers, "VmRSS"),
    (unsigned long long)memory_of_all(servers, "VmHWM"));
}
