#include "window.h"

#include <stdio.h>
#include <unistd.h>

#include "clock.h"
#include "process.h"

struct window window_begin(pid_t server) {
  return (struct window){
    .began = now(), .server = cpu_of(server), .self = cpu_of(getpid())};
}

void window_end(struct window began, pid_t server, char *json, size_t size) {
  struct window end = window_begin(server);
  snprintf(json, size,
    "\"seconds\":%.6f,\"serverCpuSeconds\":%.6f,\"generatorCpuSeconds\":%.6f,"
    "\"rssBytes\":%llu,\"peakRssBytes\":%llu,",
    (double)(end.began - began.began) / SECOND,
    (double)(end.server - began.server) / SECOND,
    (double)(end.self - began.self) / SECOND,
    (unsigned long long)memory_of(server, "VmRSS"),
    (unsigned long long)memory_of(server, "VmHWM"));
}
