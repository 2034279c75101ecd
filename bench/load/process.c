#include "process.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"

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

uint64_t cpu_of(pid_t pid) {
  clockid_t clock;
  struct timespec t;
  if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &t) != 0) {
    fprintf(stderr, "Cannot read the CPU time of process %d\n", (int)pid);
    exit(1);
  }
  return nanoseconds(t);
}

uint64_t cpu_of_machine(void) {
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

uint64_t memory_of_all(const struct processes *processes, const char *field) {
  uint64_t sum = 0;
  for (unsigned i = 0; i < processes->count; i++) sum += memory_of(processes->of[i].pid, field);
  return sum;
}
