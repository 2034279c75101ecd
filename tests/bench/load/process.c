#include "process.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"

uint64_t cpu_of(pid_t pid) {
  clockid_t clock;
  struct timespec t;
  if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &t) != 0) {
    fprintf(stderr, "Cannot read the CPU time of process %d\n", (int)pid);
    exit(1);
  }
  return nanoseconds(t);
}

uint64_t memory_of(pid_t pid, const char *field) {
  char path[64], line[256];
  snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
  FILE *file = fopen(path, "r");
  if (file == NULL) return 0;
  unsigned long long kilobytes = 0;
  while (fgets(line, sizeof line, file) != NULL) {
    size_t length = strlen(field);
    if (strncmp(line, field, length) == 0 && line[length] == ':') {
      sscanf(line + length + 1, "%llu", &kilobytes);
    }
  }
  fclose(file);
  return kilobytes * 1024;
}
