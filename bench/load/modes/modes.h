/** The modes of the generator; each writes its result as JSON to stdout. */
#ifndef MODES_H
#define MODES_H
#include "options.h"

/** Agents call their Computers. */
void run_calls(const struct options *o);
/** One member sends notifications to its office. */
void run_broadcast(const struct options *o);
/** Members join and stay idle. */
void run_idle(const struct options *o);
#endif
