#include "base/ids.h"

#include <errno.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <string.h>
#include <sys/random.h>
#include <sys/types.h>

#include "base/mem.h"

static void
to_hex(const unsigned char *in, size_t digits, char *out)
{
	static const char hex[] = "0123456789abcdef";

	for (size_t i = 0; i < digits; i++)
		out[i] = hex[i % 2 ? in[i / 2] & 15 : in[i / 2] >> 4];
	out[digits] = '\0';
}

void
ids_random(void *out, size_t len)
{
	char *p = out;

	while (len > 0) {
		ssize_t n = getrandom(p, len, 0);

		REQUIRE(n > 0 || errno == EINTR);
		if (n > 0) {
			p += n;
			len -= (size_t)n;
		}
	}
}

void
ids_hex(char *out, size_t n)
{
	unsigned char bytes[SHA256_LEN];

	REQUIRE(n < ID_HEX_MAX);
	ids_random(bytes, (n + 1) / 2);
	to_hex(bytes, n, out);
}

void
ids_sha256(const void *data, size_t len, unsigned char out[SHA256_LEN])
{
	REQUIRE(EVP_Digest(data, len, out, NULL, EVP_sha256(), NULL) == 1);
}

void
ids_sha256_hex(const void *data, size_t len, char out[2 * SHA256_LEN + 1])
{
	unsigned char sum[SHA256_LEN];

	ids_sha256(data, len, sum);
	to_hex(sum, (size_t)2 * SHA256_LEN, out);
}

void
ids_hmac_hex(const void *key, size_t key_len, const void *data, size_t len,
	char out[2 * SHA256_LEN + 1])
{
	unsigned char mac[SHA256_LEN];
	unsigned n = 0;

	REQUIRE(key_len <= 1024 && HMAC(EVP_sha256(), key, (int)key_len, data, len,
	    mac, &n) && n == sizeof(mac));
	to_hex(mac, sizeof(mac) * 2, out);
}

bool
ids_equal(const void *a, const void *b, size_t len)
{
	return CRYPTO_memcmp(a, b, len) == 0;
}
