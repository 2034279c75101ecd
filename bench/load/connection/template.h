/** A message that is sent repeatedly, each time with another request id. */
#ifndef TEMPLATE_H
#define TEMPLATE_H
#include <stddef.h>
#include <stdint.h>

/** The placeholder of a pair's number. */
#define PAIR_PLACE "#####"
#define PAIR_LENGTH 5
/** Decimal digits of a request id. */
#define ID_LENGTH 12
/** The placeholder of the id, which occurs once. */
#define ID_PLACE "@@@@@@@@@@@@"
/**
 * Each byte of the WebSocket mask. All four are the same, so that a message can be masked before it
 * is known where in a frame it will stand; none is 0, which would let a receiver skip its work.
 */
#define MASK 0x5a

struct template {
  /** The message as received. */
  uint8_t *plain;
  /** The message as sent. */
  uint8_t *masked;
  size_t length;
  /** The offset of the id. */
  size_t id_at;
};

/** @param text contains ID_PLACE once; the template keeps it */
void template_set(struct template *t, char *text, size_t length);

/** Creates a template from a copy of `text` with the pair's number. */
struct template *template_of_pair(const char *text, size_t length, unsigned pair);

/** Reads a file; ends the process when it cannot. */
char *read_file(const char *path, size_t *length);

/** Writes a number with a fixed number of decimal digits. */
void write_digits(uint8_t *to, int count, uint64_t number);
#endif
