/** What the operating system knows of a process. */
#ifndef PROCESS_H
#define PROCESS_H
#include <stdint.h>
#include <sys/types.h>

/** Nanoseconds that all threads of a process ran, those that ended included. */
uint64_t cpu_of(pid_t pid);

/** Nanoseconds that all processors were busy since the machine started; exact to a hundredth of a second. */
uint64_t cpu_of_machine(void);

/** A field of /proc/PID/status that is in kB, in bytes: "VmRSS", "VmHWM". */
uint64_t memory_of(pid_t pid, const char *field);
#endif
