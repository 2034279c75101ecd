#define _GNU_SOURCE
#include "template.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void template_set(struct template *t, char *text, size_t length) {
  char *place = memmem(text, length, ID_PLACE, ID_LENGTH);
  if (place == NULL) {
    fprintf(stderr, "A message has no place for the request id\n");
    exit(2);
  }
  t->plain = (uint8_t *)text;
  t->length = length;
  t->id_at = (size_t)(place - text);
  t->masked = malloc(length);
  if (t->masked == NULL) abort();
  for (size_t i = 0; i < length; i++) t->masked[i] = t->plain[i] ^ MASK;
}

char *read_file(const char *path, size_t *length) {
  FILE *file = fopen(path, "rb");
  if (file == NULL) {
    perror(path);
    exit(2);
  }
  size_t capacity = 1 << 16;
  char *text = malloc(capacity);
  *length = 0;
  for (size_t read = 1; read > 0; *length += read) {
    if (*length == capacity) text = realloc(text, capacity *= 2);
    if (text == NULL) abort();
    read = fread(text + *length, 1, capacity - *length, file);
  }
  fclose(file);
  return text;
}

void write_id(uint8_t *to, uint64_t id) {
  for (int i = ID_LENGTH - 1; i >= 0; i--, id /= 10) {
    to[i] = (uint8_t)('0' + id % 10);
  }
}
