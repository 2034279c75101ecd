/** Figures of the operating system about a process. */
#ifndef PROCESS_H
#define PROCESS_H
#include <stdint.h>
#include <sys/types.h>

/** Returns the CPU time of all threads of a process, including ended ones, in nanoseconds. */
uint64_t cpu_of(pid_t pid);

/** Returns the busy time of all processors since boot in nanoseconds, exact to a hundredth of a second. */
uint64_t cpu_of_machine(void);

/** Returns a field of /proc/PID/status that is in kB, such as "VmRSS" or "VmHWM", in bytes. */
uint64_t memory_of(pid_t pid, const char *field);
#endif
