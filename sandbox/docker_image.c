/* What is known of the image, and the helper's bytes for it. */
#include "sandbox/docker_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/ids.h"
#include "base/mem.h"

char *
docker_image_path(const struct backend_inst *inst)
{
	return mem_printf("/images/%s/json", inst->image);
}

static const char *
own_arch(void)
{
#if defined(__x86_64__)
	return "amd64";
#elif defined(__aarch64__)
	return "arm64";
#elif defined(__i386__)
	return "386";
#else
	return "";
#endif
}

int
docker_image_seen(struct backend_inst *inst, const struct json *image,
	struct err *err)
{
	const char *arch = json_get_str(image, "Architecture", "");
	const struct json *config = json_get(image, "Config");
	const struct json *env;

	if (*arch && *own_arch() && strcmp(arch, own_arch()) != 0)
		return err_set(err, ERR_CONFIG, "the image %s is for %s, and this "
		    "gatehouse was built for %s: choose an image of that kind "
		    "(terminal.docker_image)", inst->image, arch, own_arch());
	inst->image_seen = true;
	mem_free(inst->image_id);
	inst->image_id = mem_str(json_get_str(image, "Id", ""));
	mem_free(inst->image_user);
	inst->image_user = mem_str(json_get_str(config, "User", ""));
	mem_free(inst->image_home);
	inst->image_home = NULL;
	for (env = json_first(json_get(config, "Env")); env; env = json_next(env))
		if (json_str(env) && strncmp(json_str(env), "HOME=", 5) == 0)
			inst->image_home = mem_str(json_str(env) + 5);
	return 0;
}

int
docker_helper_read(struct backend_inst *inst, struct err *err)
{
	CLEANUP_CLOSE int fd = open(inst->opts.helper, O_RDONLY | O_CLOEXEC);
	struct stat st;
	char hex[ID_HEX_MAX];

	if (inst->helper)
		return 0;
	if (fd < 0 || fstat(fd, &st) < 0 || st.st_size > DOCKER_HELPER_MAX)
		return err_set_errno(err, errno, "the helper %s for containers",
		    inst->opts.helper);
	char *data = mem_alloc((size_t)st.st_size + 1);
	for (off_t at = 0; at < st.st_size;) {
		ssize_t n = read(fd, data + at, (size_t)(st.st_size - at));
		if (n <= 0) {
			mem_free(data);
			return err_set_errno(err, errno, "reading the helper %s",
			    inst->opts.helper);
		}
		at += n;
	}
	inst->helper = data;
	inst->helper_len = (size_t)st.st_size;
	ids_sha256_hex(data, inst->helper_len, hex);
	inst->helper_volume = mem_printf("gatehouse-helper-%.16s", hex);
	return 0;
}

static void
octal(char *field, size_t width, unsigned long long n)
{
	for (size_t i = width - 1; i-- > 0; n >>= 3)
		field[i] = (char)('0' + (n & 7));
}

/* POSIX ustar. */
char *
docker_helper_tar(const struct backend_inst *inst, size_t *ret_len)
{
	size_t body = (inst->helper_len + 511) & ~(size_t)511;
	char *tar = mem_alloc(512 + body + 1024), *p;
	unsigned sum = 0;

	memcpy(tar, "helper", 6);
	octal(tar + 100, 8, 0555);
	octal(tar + 108, 8, 0);
	octal(tar + 116, 8, 0);
	octal(tar + 124, 12, inst->helper_len);
	octal(tar + 136, 12, 0);
	memset(tar + 148, ' ', 8);
	tar[156] = '0';
	memcpy(tar + 257, "ustar\00000", 8);
	for (p = tar; p < tar + 512; p++)
		sum += (unsigned char)*p;
	octal(tar + 148, 7, sum);
	memcpy(tar + 512, inst->helper, inst->helper_len);
	*ret_len = 512 + body + 1024;
	return tar;
}
