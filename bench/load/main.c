#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

#include "connection/connection.h"
#include "modes/modes.h"

int main(int count, char **words) {
  struct options o = read_options(count, words);
  prctl(PR_SET_TIMERSLACK, 1); // send calls when they are due, not up to 50 µs later
  net.path = o.path;
  net.raw = o.raw != 0;
  net.per_address = o.per_address;
  net.opening = o.opening;
  net.open_timeout = o.open_timeout;
  if (strcmp(o.mode, "calls") == 0) run_calls(&o);
  else if (strcmp(o.mode, "broadcast") == 0) run_broadcast(&o);
  else if (strcmp(o.mode, "idle") == 0) run_idle(&o);
  else {
    fprintf(stderr, "Unknown mode %s\n", o.mode);
    return 2;
  }
  // An error invalidates the run.
  return net.errors == 0 ? 0 : 1;
}
