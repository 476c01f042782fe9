#include "gateway/override.h"

#include <string.h>

#include "base/mem.h"
#include "base/nearest.h"
#include "sandbox/singularity.h"

enum image_form {
	IMAGE_NONE,		/* the backend has no images */
	IMAGE_DIR,		/* directory of a root file system; "" = the host's */
	IMAGE_NAME,		/* registry name, or what the vendor calls it */
	IMAGE_SIF,		/* an address, or a file or directory of this host */
};

struct known_backend {
	const char *name;
	enum image_form image;
	const char *needs;	/* library that the build may lack; NULL: none */
};

/* What Hermes, its extensions and we call backends; built in or not. */
static const struct known_backend known[] = {
	{ "native", IMAGE_DIR, NULL },
	{ "local", IMAGE_NONE, NULL },
	{ "docker", IMAGE_NAME, NULL },
	{ "podman", IMAGE_NAME, NULL },
	{ "ssh", IMAGE_NONE, "libssh" },
	{ "singularity", IMAGE_SIF, NULL },
	{ "apptainer", IMAGE_SIF, NULL },
	{ "modal", IMAGE_NAME, NULL },
	{ "daytona", IMAGE_NAME, NULL },
	{ "tenki", IMAGE_NAME, NULL },
	{ "e2b", IMAGE_NAME, NULL },
	{ "sprites", IMAGE_NONE, NULL },
};

static const char *const built[] = {
#define BACKEND(name) #name,
#include "sandbox/list.h"
#undef BACKEND
};

static bool
is_built(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(built); i++)
		if (strcmp(built[i], name) == 0)
			return true;
	return false;
}

static const struct known_backend *
find_known(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (strcmp(known[i].name, name) == 0)
			return &known[i];
	return NULL;
}

/* "native, local", or what is known and not part of this version. */
static char *
name_backends(bool want_built)
{
	struct buf out;

	buf_init(&out, 512);
	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (is_built(known[i].name) == want_built)
			buf_printf(&out, "%s%s", out.len ? ", " : "", known[i].name);
	return buf_take(&out);
}

static void
say(struct report *rep, enum report_level level, const struct override_word *at,
	const char *text)
{
	report_add(rep, level, at->file, at->line, 0, "%s: %s", at->name, text);
}

/* The backend of this name, or NULL after an error. */
static const struct known_backend *
check_backend(const struct override_word *word, struct report *rep)
{
	const struct known_backend *backend = find_known(word->text);
	CLEANUP_FREE char *valid = name_backends(true);
	const char *names[ARRAY_LEN(known)];
	const char *near;

	if (backend && is_built(backend->name))
		return backend;
	if (backend) {
		CLEANUP_FREE char *text = backend->needs ?
			mem_printf("the backend %s is not in this build, which was "
			"made without %s: build with it, or choose one of %s",
			backend->name, backend->needs, valid) :
			mem_printf("the backend %s is not part of this version: "
			"choose one of %s", backend->name, valid);

		say(rep, REPORT_ERROR, word, text);
		return NULL;
	}
	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		names[i] = known[i].name;
	near = nearest_name(word->text, names, ARRAY_LEN(names));
	CLEANUP_FREE char *text = mem_printf("'%.40s' is no backend%s%s%s; valid: %s",
		word->text, near ? ": did you mean " : "", near ? near : "",
		near ? "?" : "", valid);
	say(rep, REPORT_ERROR, word, text);
	return NULL;
}

static void
check_image(const struct known_backend *backend, const struct override_word *image,
	struct report *rep)
{
	struct err err = { ERR_NONE, "" };

	if (!*image->text)
		return;
	if (backend->image == IMAGE_NONE) {
		CLEANUP_FREE char *text = mem_printf("backend %s has no images: "
			"remove this key", backend->name);

		say(rep, REPORT_ERROR, image, text);
	}
	if (backend->image == IMAGE_DIR && *image->text != '/')
		say(rep, REPORT_ERROR, image, "backend native can't pull images: give "
			"the absolute path of an unpacked root file system, or remove "
			"the key to use the host's own system read-only");
	if (backend->image == IMAGE_SIF &&
	    singularity_image_check(image->text, &err) < 0)
		say(rep, REPORT_ERROR, image, err.text);
}

static const struct override_word no_image = { "", "", NULL, 0 };

/* terminal.<backend>_image; podman and apptainer are other names. */
static const struct override_word *
own_image(const struct override_in *in, const struct known_backend *backend)
{
	if (strcmp(backend->name, "native") == 0)
		return &in->native_image;
	if (strcmp(backend->name, "docker") == 0 ||
	    strcmp(backend->name, "podman") == 0)
		return &in->docker_image;
	if (backend->image == IMAGE_SIF)
		return &in->singularity_image;
	return &no_image;
}

int
override_decide(const struct override_in *in, struct override *ret,
	struct report *rep)
{
	const struct known_backend *native = find_known("native");
	const struct known_backend *console = native, *messaging;
	const struct override_word *image, *console_image;
	size_t errors = rep->errors;

	if (*in->terminal_backend.text)
		console = check_backend(&in->terminal_backend, rep);
	messaging = console;
	if (*in->gateway_backend.text)
		messaging = check_backend(&in->gateway_backend, rep);
	if (!console || !messaging)
		return -1;
	*ret = (struct override){ .overridden = *in->gateway_backend.text != '\0' };
	if (!ret->overridden && strcmp(messaging->name, "local") == 0) {
		messaging = native;
		say(rep, REPORT_NOTE, &in->terminal_backend, "local counts for the "
			"operator's own console only; sessions from platforms use native "
			"(gateway.terminal_backend: local would change that)");
	}
	console_image = own_image(in, console);
	image = *in->gateway_image.text ? &in->gateway_image :
		own_image(in, messaging);
	check_image(messaging, image, rep);
	if (console_image != image)
		check_image(console, console_image, rep);
	ret->host_commands = strcmp(messaging->name, "local") == 0;
	if (ret->host_commands)
		say(rep, REPORT_WARN, &in->gateway_backend, "people who talk to the bot "
			"run commands on this host itself; nothing isolates them");
	ret->backend = messaging->name;
	ret->image = image->text;
	ret->lifetime_s = in->gateway_lifetime_s >= 0 ? in->gateway_lifetime_s :
		in->terminal_lifetime_s;
	ret->console_backend = console->name;
	ret->console_image = console_image->text;
	ret->console_lifetime_s = in->terminal_lifetime_s;
	return rep->errors == errors ? 0 : -1;
}

char *
override_line(const struct override *o)
{
	return mem_printf("Gateway terminal backend override: %s (image: %s)",
		o->backend, *o->image ? o->image : "default");
}

void
override_print_docs(FILE *out)
{
	static const struct { const char *form, *def; } forms[] = {
		[IMAGE_NONE] = { "none: gateway.sandbox_image is refused", "" },
		[IMAGE_DIR] = { "absolute path of an unpacked root file system",
			"the host's own system, read-only" },
		[IMAGE_NAME] = { "name of an image", "the backend's own" },
		[IMAGE_SIF] = { "`docker://` or another address, absolute path of a "
			"`.sif` file or of a directory that apptainer built",
			"`" SINGULARITY_IMAGE "`" },
	};

	fputs("# Backends\n\nMade by `gatehouse config dump-docs backends`; don't "
		"edit.\n\nWhere commands of sessions that come from a platform run: "
		"`gateway.terminal_backend`,\nelse `terminal.backend`, else "
		"`TERMINAL_ENV`, else `native`. `local` counts for them only\nfrom "
		"`gateway.terminal_backend`; elsewhere it means the operator's own "
		"console.\nThe image: `gateway.sandbox_image`, else "
		"`terminal.<backend>_image`, else\n`TERMINAL_<BACKEND>_IMAGE`, else the "
		"default. Idle end: `gateway.sandbox_lifetime`,\nelse "
		"`terminal.lifetime_seconds`, else 300 seconds; 0 means never.\n\n"
		"| Backend | In this version | Form of an image | Default |\n"
		"|---|---|---|---|\n", out);
	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		fprintf(out, "| `%s` | %s | %s | %s |\n", known[i].name,
			known[i].needs ? "yes, if built with its library" :
			is_built(known[i].name) ? "yes" : "no",
			forms[known[i].image].form, forms[known[i].image].def);
}
