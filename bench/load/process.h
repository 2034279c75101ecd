/** Figures of the operating system about a process. */
#ifndef PROCESS_H
#define PROCESS_H
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

/** Returns the CPU time of all threads of a process, including ended ones, in nanoseconds. */
uint64_t cpu_of(pid_t pid);

/** Returns the busy time of all processors since boot in nanoseconds, exact to a hundredth of a second. */
uint64_t cpu_of_machine(void);

/** Returns a field of /proc/PID/status that is in kB, such as "VmRSS" or "VmHWM", in bytes. */
uint64_t memory_of(pid_t pid, const char *field);

/** Returns the sum of such a field over all processes. */
uint64_t memory_of_all(const struct processes *processes, const char *field);
#endif
