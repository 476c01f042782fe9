#include "sandbox/permit.h"

#include <string.h>

#include "base/ids.h"
#include "base/mem.h"
#include "sandbox/scene.h"

struct permit {
	unsigned char hash[SHA256_LEN];	/* of the command's bytes */
	size_t len;
	unsigned char input_hash[SHA256_LEN];
	size_t input_len;
	char *sandbox;
	char *workdir;
	uint64_t generation;
	uint32_t isolation;
	bool background;
	struct scene *scene;
};

static size_t live;

struct permit *
permit_issue(const struct permit_terms *terms)
{
	struct permit *p = mem_alloc(sizeof(*p));

	REQUIRE(terms->command && terms->sandbox);
	ids_sha256(terms->command, terms->command_len, p->hash);
	p->len = terms->command_len;
	ids_sha256(terms->input ? terms->input : "", terms->input_len,
	    p->input_hash);
	p->input_len = terms->input_len;
	p->sandbox = mem_str(terms->sandbox);
	p->workdir = mem_str(terms->workdir ? terms->workdir : "");
	p->generation = terms->generation;
	p->isolation = terms->isolation;
	p->background = terms->background;
	p->scene = terms->scene;
	live++;
	return p;
}

void
permit_free(struct permit **permit)
{
	if (!permit || !*permit)
		return;
	struct permit *p = STEAL(*permit);

	scene_free(&p->scene);
	mem_free(p->sandbox);
	mem_free(p->workdir);
	mem_free(p);
	live--;
}

struct scene *
permit_take_scene(struct permit *p)
{
	return p ? STEAL(p->scene) : NULL;
}

/* The first term that differs, in words; NULL if none does. */
static const char *
difference(const struct permit *p, const struct permit_terms *now)
{
	unsigned char hash[SHA256_LEN];

	ids_sha256(now->command, now->command_len, hash);
	if (p->len != now->command_len ||
	    !ids_equal(p->hash, hash, sizeof(hash)))
		return "the command is not the one that was permitted";
	ids_sha256(now->input ? now->input : "", now->input_len, hash);
	if (p->input_len != now->input_len ||
	    !ids_equal(p->input_hash, hash, sizeof(hash)))
		return "its input is not the one that was permitted";
	if (strcmp(p->sandbox, now->sandbox) != 0)
		return "the permit was given for another sandbox";
	if (strcmp(p->workdir, now->workdir ? now->workdir : "") != 0)
		return "the permit was given for another directory";
	if (p->generation != now->generation)
		return "the permit was given to another run";
	if (p->isolation != now->isolation)
		return "the sandbox isolates differently than when this was permitted";
	if (p->background != now->background)
		return "foreground and background are permitted separately";
	return NULL;
}

int
permit_consume(struct permit **permit, const struct permit_terms *now,
	struct err *err)
{
	if (!permit || !*permit)
		return err_set(err, ERR_DENIED,
		    "not run: no permit was given for this command");
	const char *why = difference(*permit, now);

	permit_free(permit);
	if (why)
		return err_set(err, ERR_DENIED, "not run: %s; ask again", why);
	return 0;
}

size_t
permit_live(void)
{
	return live;
}
