/** What the generator can do; each writes its result as JSON to stdout. */
#ifndef MODES_H
#define MODES_H
#include "options.h"

/** Agents call their Computers. */
void run_calls(const struct options *o);
/** One of an office tells the others something. */
void run_broadcast(const struct options *o);
/** Members come and do nothing. */
void run_idle(const struct options *o);
#endif
