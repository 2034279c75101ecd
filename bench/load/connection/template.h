/** A message that is sent again and again, each time with another request id in it. */
#ifndef TEMPLATE_H
#define TEMPLATE_H
#include <stddef.h>
#include <stdint.h>

/** Stands where the digits of a pair's number go. */
#define PAIR_PLACE "#####"
#define PAIR_LENGTH 5
/** Decimal digits of a request id. */
#define ID_LENGTH 12
/** Stands where the id goes, once. */
#define ID_PLACE "@@@@@@@@@@@@"
/**
 * Each byte of the WebSocket mask. All four are the same, so that a message can be masked before it
 * is known where in a frame it will stand; none is 0, which would let a receiver skip its work.
 */
#define MASK 0x5a

struct template {
  /** As it is received. */
  uint8_t *plain;
  /** As it is sent. */
  uint8_t *masked;
  size_t length;
  /** Where the id is. */
  size_t id_at;
};

/** @param text is kept; it holds ID_PLACE once */
void template_set(struct template *t, char *text, size_t length);

/** Makes a template of a copy of `text` in which the pair's number is written. */
struct template *template_of_pair(const char *text, size_t length, unsigned pair);

/** Reads a file; ends the process when it cannot. */
char *read_file(const char *path, size_t *length);

/** Writes a number with so many decimal digits. */
void write_digits(uint8_t *to, int count, uint64_t number);
#endif
