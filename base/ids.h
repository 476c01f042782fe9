/* Random ids, hashes, constant-time comparison. Any thread. */
#ifndef GATEHOUSE_IDS_H
#define GATEHOUSE_IDS_H

#include <stdbool.h>
#include <stddef.h>

#define ID_HEX_MAX 65
#define SHA256_LEN 32

void ids_random(void *out, size_t len);		/* from the kernel; never fails */
/* n hex digits (n <= 64) plus NUL into out[n + 1]. */
void ids_hex(char *out, size_t n);
void ids_sha256(const void *data, size_t len, unsigned char out[SHA256_LEN]);
void ids_sha256_hex(const void *data, size_t len, char out[2 * SHA256_LEN + 1]);
/* HMAC-SHA-256 of data in hex, with a NUL. */
void ids_hmac_hex(const void *key, size_t key_len, const void *data, size_t len,
	char out[2 * SHA256_LEN + 1]);
bool ids_equal(const void *a, const void *b, size_t len);	/* constant time */

#endif
