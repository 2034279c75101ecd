/** What the operating system knows of a process. */
#ifndef PROCESS_H
#define PROCESS_H
#include <stdint.h>
#include <sys/types.h>

/** Nanoseconds that all threads of a process ran, those that ended included. */
uint64_t cpu_of(pid_t pid);

/** A field of /proc/PID/status that is in kB, in bytes: "VmRSS", "VmHWM". */
uint64_t memory_of(pid_t pid, const char *field);
#endif
