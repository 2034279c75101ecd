/** Options of the command line, in the form name=value. */
#ifndef OPTIONS_H
#define OPTIONS_H
#include <stdbool.h>
#include <stdint.h>

#include "process.h"

/** Maximum number of ports of Agents, and of Computers. */
#define MAX_PORTS 16

struct ports {
  unsigned count;
  uint16_t of[MAX_PORTS];
};

struct options {
  const char *mode;
  /** Where Agents connect to, and where Computers do; each next pair to the next of them: "8001,8002". */
  struct ports agents, computers;
  /** The processes of the server: "a:4711,redis:4712". */
  struct processes processes;
  /** Path of the Socket.IO endpoint. */
  const char *path;
  /** 1: no Socket.IO, see net.raw. */
  unsigned raw;
  /** 1: the server may re-encode bodies, so only their length is compared. */
  unsigned reencoded;
  unsigned pairs;
  /** Concurrent calls of each pair; with rotate=1, of all pairs together. */
  unsigned inflight;
  /** 1: each next call is made by the next pair. */
  unsigned rotate;
  /** Calls per second, regardless of answers; 0 waits for answers. */
  double rate;
  /** The load's first seconds, and those that are measured after them. */
  double warmup, seconds;
  /** Files with the arguments of an answer, and the arguments of a call. */
  const char *answer, *call;
  unsigned per_address, opening;
  /** Seconds for all connections to open. */
  unsigned open_timeout;
  /** Members of the office of a broadcast. */
  unsigned members;
  /** Numbers of idle members, ascending: "1000,5000". */
  const char *steps;
  /** Seconds that they are watched at the end; 0 for none. */
  double watched;
};

/** Ends the process with a message when an option is unknown. */
struct options read_options(int count, char **words);

/** Returns the port of the pair of a number. */
uint16_t port_of(const struct ports *ports, unsigned pair);
#endif
