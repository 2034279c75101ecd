#include "modes/window.h"

#include <stdio.h>
#include <unistd.h>

#include "clock.h"
#include "process.h"

struct window window_begin(pid_t server) {
  return (struct window){
    .began = now(), .server = cpu_of(server), .self = cpu_of(getpid()), .machine = cpu_of_machine()};
}

void window_end(struct window began, pid_t server, char *json, size_t size) {
  struct window end = window_begin(server);
  double server_used = (double)(end.server - began.server) / SECOND;
  double self_used = (double)(end.self - began.self) / SECOND;
  double others = (double)(end.machine - began.machine) / SECOND - server_used - self_used;
  snprintf(json, size,
    "\"seconds\":%.6f,\"serverCpuSeconds\":%.6f,\"generatorCpuSeconds\":%.6f,\"othersCpuSeconds\":%.2f,"
    "\"rssBytes\":%llu,\"peakRssBytes\":%llu,",
    (double)(end.began - began.began) / SECOND,
    server_used, self_used, others > 0 ? others : 0,
    (unsigned long long)memory_of(server, "VmRSS"),
    (unsigned long long)memory_of(server, "VmHWM"));
}
