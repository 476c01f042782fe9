/* Containers and clouds. */
#include <string.h>

#include "gateway/gate/rules.h"

static void
ask_lost(struct walk *w, const char *who, const char *verb)
{
	walk_ask(w, GATE_CLASS_FILES, "container or service stopped or deleted",
		"%s %s stops or deletes something", who, verb);
}

static void
check_bind(struct walk *w, const char *spec)
{
	const char *src = strstr(spec, "source=");
	src = src ? src + 7 : strstr(spec, "src=") ? strstr(spec, "src=") + 4 : spec;
	size_t n = strcspn(src, ":,");
	struct gate_field f = field_text(w, src, n, 0);
	f.flags = strchr(f.s, MARK_ANY) ? FIELD_ANY : 0;
	if (!strchr("/.~\x01", f.s[0]))
		return;		/* a named volume */
	struct path p = path_of(w, &f);
	if (strstr(f.s, "docker.sock") || strstr(f.s, "containerd.sock") ||
	    strstr(f.s, "podman.sock"))
		walk_ask_severe(w, GATE_CLASS_FILES, "container with host access",
			"the container can rule the engine");
	else if ((p.zone != ZONE_INSIDE && p.zone != ZONE_TMP) || f.s[0] == '~')
		walk_ask_severe(w, GATE_CLASS_FILES, "container with host access",
			"%s of the host is given to the container", f.s);
}

/* Options of run, create, exec that reach the host; the command after the
 * image is read as if it ran here, with /:/h shown as what it is. */
static const char run_shorts[] = "+v:e:p:w:u:h:l:m:c:a:";
static const char run_longs[] = "volume env publish workdir user hostname label "
	"memory cpus name network net mount device cap-add security-opt pid ipc uts "
	"userns entrypoint env-file restart platform add-host dns gpus shm-size "
	"ulimit log-driver tmpfs volumes-from cgroupns cidfile pull runtime "
	"stop-signal expose link label-file group-add health-cmd ip isolation "
	"log-opt mac-address network-alias cgroup-parent detach-keys project-name "
	"file profile index";

static void
check_run_option(struct walk *w, struct opts *o, int k)
{
	bool lng = k == OPT_LONG;
	const char *v = o->val ? o->val : "";
	if (k == 'v' || (lng && (opts_long(o, "volume", 3) ||
	    opts_long(o, "mount", 3))))
		check_bind(w, v);
	if ((lng && (opts_long(o, "privileged", 4) || opts_long(o, "device", 6) ||
	    opts_long(o, "cap-add", 5) || opts_long(o, "volumes-from", 9) ||
	    opts_long(o, "security-opt", 8))) ||
	    (lng && word_in(o->name, o->name_len, "pid ipc uts userns network net "
	    "cgroupns") && (!strncmp(v, "host", 4) || !strncmp(v, "container:", 10))))
		walk_ask_severe(w, GATE_CLASS_FILES, "container with host access",
			"--%.*s gives the container rights over the host",
			(int)o->name_len, o->name);
	if (lng && opts_long(o, "env-file", 5))
		path_check_read(w, &o->val_field);
}

static bool
host_root_bound(const struct gate_cmd *c)
{
	for (size_t i = 1; i < c->n; i++)
		if (strncmp(c->v[i].s, "/:", 2) == 0 ||
		    strstr(c->v[i].s, "=/:") || strncmp(c->v[i].s, "-v/:", 4) == 0)
			return true;
	return false;
}

/* A command in there; its paths aren't the host's. */
static void
enter_container(struct walk *w, struct gate_cmd *c, size_t from)
{
	const char *cwd = w->s.cwd;
	bool inside = w->in_container;
	w->s.cwd = NULL;
	w->in_container = true;
	walk_fields(w, c, from);
	w->in_container = inside;
	w->s.cwd = cwd;
}

/* run IMAGE cmd..., exec NAME cmd... */
static void
container_run(struct walk *w, struct gate_cmd *c)
{
	struct opts o;
	int k;
	opts_init(&o, c, run_shorts, run_longs);
	while ((k = opts_next(&o)) != OPT_END && k != OPT_WORD)
		check_run_option(w, &o, k);
	if (k != OPT_WORD)
		return;
	if (host_root_bound(c))
		for (size_t i = o.word_at; i < c->n; i++)
			if (word_in(c->v[i].s, c->v[i].len, "rm dd mkfs shred wipefs "
			    "chmod chown find") || strstr(c->v[i].s, "rm -"))
				walk_never(w, "delete in root path",
					"it works on the whole host from a container");
	enter_container(w, c, o.word_at + 1);
}

static const char docker_reads[] = "ps images image-ls logs inspect version info "
	"port top stats diff history events search wait build buildx pull tag "
	"scout sbom manifest";

static void
docker_group(struct walk *w, struct gate_cmd *c, const char *group)
{
	static const char reads[] = "ls list inspect logs ps top stats port history "
		"show du df info version config build pull tag create events diff prune-dry "
		"images up start run exec restart-dry convert attach";
	if (c->n < 2)
		return;
	const char *verb = c->v[1].s;
	struct gate_cmd sub = *c;
	sub.v++;
	sub.n--;
	if (word_in(verb, strlen(verb), "run exec create"))
		container_run(w, &sub);
	else if (word_in(verb, strlen(verb), "push"))
		walk_ask(w, GATE_CLASS_NETWORK, "publish", "an image is published");
	else if (verb[0] != '-' && !word_in(verb, strlen(verb), reads))
		ask_lost(w, arena_join(w->arena, "docker ", group, ""), verb);
}

static void
compose(struct walk *w, struct gate_cmd *c)
{
	struct opts o;
	int k;
	opts_init(&o, c, "+f:p:", "file project-name profile env-file "
		"project-directory");
	while ((k = opts_next(&o)) != OPT_END && k != OPT_WORD)
		if ((k == 'f' || (k == OPT_LONG && opts_long(&o, "file", 3))) && o.val)
			rule_run_script(w, c, &o.val_field);
	if (k != OPT_WORD)
		return;
	const char *verb = o.word->s;
	struct gate_cmd sub = *c;
	sub.v += o.word_at;
	sub.n -= o.word_at;
	if (word_in(verb, strlen(verb), "run exec"))
		container_run(w, &sub);
	else if (word_in(verb, strlen(verb), "push publish"))
		walk_ask(w, GATE_CLASS_NETWORK, "publish", "an image is published");
	else if (!word_in(verb, strlen(verb), "ps ls logs config images top port "
	    "version events up build pull create start watch stats wait convert "
	    "attach volumes"))
		walk_ask(w, GATE_CLASS_FILES, "docker compose restart/stop/kill/down",
			"docker compose %s stops or deletes containers", verb);
	rule_build(w, c);
}

static void
rule_docker(struct walk *w, struct gate_cmd *c, const char *arg)
{
	struct opts o;
	int k;
	opts_init(&o, c, arg, "host context config log-level tlscacert tlscert tlskey "
		"url connection root namespace");
	while ((k = opts_next(&o)) != OPT_END && k != OPT_WORD)
		if (k == 'H' || k == 'c' || (k == OPT_LONG && (opts_long(&o, "host", 2) ||
		    opts_long(&o, "context", 3) || opts_long(&o, "url", 2) ||
		    opts_long(&o, "connection", 4) || opts_long(&o, "remote", 3))))
			walk_ask(w, GATE_CLASS_NETWORK, "docker/podman pointed at "
				"another daemon", "it works on another machine's "
				"containers");
	if (k != OPT_WORD)
		return;
	const char *verb = o.word->s;
	size_t n = o.word->len;
	struct gate_cmd sub = *c;
	sub.v += o.word_at;
	sub.n -= o.word_at;
	if (word_in(verb, n, "run exec create"))
		container_run(w, &sub);
	else if (opts_has(&sub, "", "", "push") && word_in(verb, n, "build buildx "
	    "compose"))
		walk_ask(w, GATE_CLASS_NETWORK, "publish", "an image is published");
	else if (word_in(verb, n, "compose"))
		compose(w, &sub);
	else if (word_in(verb, n, "container image volume network system builder "
	    "context buildx swarm node service stack secret config plugin pod machine "
	    "generate trust manifest model"))
		docker_group(w, &sub, verb);
	else if (word_in(verb, n, "push login logout"))
		walk_ask(w, GATE_CLASS_NETWORK, "publish", "docker %s", verb);
	else if (word_in(verb, n, "cp")) {
		for (size_t i = 1; i < sub.n; i++)
			if (!strchr(sub.v[i].s, ':') && sub.v[i].s[0] != '-')
				path_check_write(w, &sub.v[i], "copies");
		if (sub.n > 2 && strchr(sub.v[sub.n - 1].s, ':'))
			walk_ask(w, GATE_CLASS_FILES, "change inside a container",
				"it copies into %s", sub.v[sub.n - 1].s);
	} else if (word_in(verb, n, "save export")) {
		for (size_t i = 1; i + 1 < sub.n; i++)
			if (field_is(&sub.v[i], "-o"))
				path_check_write(w, &sub.v[i + 1], "writes");
	} else if (word_in(verb, n, "start load import commit attach")) {
		if (c->in.flags & FIELD_FETCHED)
			walk_ask(w, GATE_CLASS_CODE, "fetched code run",
				"docker %s takes what the network sends", verb);
		return;
	}
	else if (!word_in(verb, n, docker_reads))
		walk_ask(w, GATE_CLASS_FILES, word_in(verb, n, "restart stop kill") ?
			"docker restart/stop/kill" :
			"container or service stopped or deleted",
			"docker %s stops or deletes containers or what they hold", verb);
	if (word_in(verb, n, "build"))
		rule_build(w, c);
}

static void
rule_compose(struct walk *w, struct gate_cmd *c, const char *arg)
{
	(void)arg;
	compose(w, c);
}

/* kubectl and its kind: get and describe are reads; secrets aren't. */
static void
rule_kubectl(struct walk *w, struct gate_cmd *c, const char *arg)
{
	static const char reads[] = "get describe logs top version explain "
		"api-resources api-versions cluster-info diff events auth "
		"options wait completion kustomize";
	struct opts o;
	int k;
	opts_init(&o, c, arg, "namespace context cluster kubeconfig user server token");
	while ((k = opts_next(&o)) != OPT_END && k != OPT_WORD)
		;
	if (k != OPT_WORD)
		return;
	const char *verb = o.word->s;
	size_t at = o.word_at;
	for (size_t i = at + 1; i < c->n; i++) {
		if (word_in(c->v[i].s, strcspn(c->v[i].s, "/."), "secret secrets") &&
		    opts_has(c, "", "o", "output template"))
			walk_ask(w, GATE_CLASS_CREDENTIALS, "credential read",
				"it shows secrets of the cluster");
		if (field_is(&c->v[i], "--") && !strcmp(verb, "exec")) {
			enter_container(w, c, i + 1);
			return;
		}
	}
	if (opts_has(c, "", "", "raw") && !strcmp(verb, "config"))
		walk_ask(w, GATE_CLASS_CREDENTIALS, "credential read",
			"it shows the cluster's keys");
	if (!strcmp(verb, "config") && at + 1 < c->n &&
	    word_in(c->v[at + 1].s, c->v[at + 1].len, "view get-contexts "
	    "current-context get-clusters"))
		return;
	if (!strcmp(verb, "auth") && !(at + 1 < c->n && word_in(c->v[at + 1].s,
	    c->v[at + 1].len, "can-i whoami")))
		walk_ask(w, GATE_CLASS_NETWORK, "change of a cluster",
			"%s auth changes who may do what", c->name);
	if (!strcmp(verb, "rollout") && at + 1 < c->n &&
	    word_in(c->v[at + 1].s, c->v[at + 1].len, "status history"))
		return;
	for (size_t i = at + 1; i < c->n; i++)
		if (field_is(&c->v[i], "--dry-run=client") ||
		    field_is(&c->v[i], "--dry-run=server"))
			return;
	if (!word_in(verb, strlen(verb), reads))
		walk_ask(w, GATE_CLASS_NETWORK, "change of a cluster",
			"%s %s changes a cluster", c->name, verb);
}

static bool
starts_with_any(const char *s, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strncmp(s, list[i], strlen(list[i])) == 0)
			return true;
	return false;
}

/* A word that only shows, by itself or by how it starts. */
static bool
cloud_shows(const char *s, const char *more)
{
	static const char verbs[] = "ls list show get describe info version help "
		"status view whoami search logs tail history validate plan diff "
		"preview fmt lint template graph output providers console-url "
		"presign-list inspect search-repo ps read-log read scan query wait "
		"head doctor docs";
	static const char *const starts[] = { "list-", "describe-", "get-", "head-",
		"batch-get", "validate-", "lookup-", "search-", "filter-", "check-",
		"view-", "estimate-", "preview-", "scan-", "query-", "test-" };
	const char *colon = strchr(s, ':');	/* "sites:list" */
	if (colon && word_in(colon + 1, strlen(colon + 1), "list info get status show "
	    "open"))
		return true;
	size_t n = strlen(s);
	return word_in(s, n, verbs) || (more && word_in(s, n, more)) ||
		starts_with_any(s, starts, sizeof(starts) / sizeof(starts[0]));
}

static bool
cloud_changes(const struct gate_cmd *c, size_t i)
{
	static const char verbs[] = "delete rm rb terminate destroy apply deploy create "
		"update put remove set sync cp mv run exec import taint state "
		"force-unlock install upgrade uninstall rollback invoke start stop "
		"restart kill ssh console edit add scale promote login logout";
	static const char *const starts[] = { "delete-", "create-", "put-", "update-",
		"remove-", "terminate-", "stop-", "start-", "reboot-", "run-",
		"modify-", "attach-", "detach-", "add-", "set-", "send-", "publish-",
		"invoke-", "cancel-", "purge-", "restore-", "reset-", "enable-",
		"disable-", "register-", "deregister-", "associate-",
		"disassociate-", "import-", "copy-", "revoke-", "authorize-",
		"schedule-", "execute-", "apps:destroy", "config:set", "pg:reset",
		"change-", "upload-", "allocate-", "release-", "replace-" };
	const char *s = c->v[i].s;
	if (!strcmp(s, "run") && i == 1 && !strcmp(c->name, "gcloud"))
		return false;	/* there it is a noun */
	if (!strcmp(s, "state") && i + 1 < c->n && word_in(c->v[i + 1].s,
	    c->v[i + 1].len, "list show pull"))
		return false;
	return word_in(s, strlen(s), verbs) ||
		starts_with_any(s, starts, sizeof(starts) / sizeof(starts[0]));
}

static bool
cloud_secret(const char *s)
{
	return strstr(s, "secret") || strstr(s, "print-access-token") ||
		strstr(s, "print-identity-token") || strstr(s, "password") ||
		strstr(s, "credential") || strstr(s, "get-session-token") ||
		strstr(s, "get-access-token") || !strcmp(s, "--with-decryption") ||
		strstr(s, "get-authorization-token") || !strcmp(s, "config:get") ||
		!strcmp(s, "keys");
}

/* aws, gcloud, az and more: only what shows is silent. */
static void
rule_cloud(struct walk *w, struct gate_cmd *c, const char *arg)
{
	bool reads = false, secret = false, any = false, changes = false;
	for (size_t i = 1; i < c->n; i++) {
		const char *s = c->v[i].s;
		secret |= cloud_secret(s);
		changes |= !strcmp(s, "--prod") || !strncmp(s, "-auto-approve", 13) ||
			(!strncmp(s, "-destroy", 8) && !cmd_arg_is(c, 1, "plan")) || !strncmp(s, "-out=/", 6);
		if (s[0] == '-') {	/* its value is no verb */
			i += !strncmp(s, "--", 2) && !strchr(s, '=') && any &&
				i + 2 < c->n && c->v[i + 1].s[0] != '-';
			continue;
		}
		any = true;
		if (changes || cloud_changes(c, i)) {
			changes = true;
			break;
		}
		reads |= cloud_shows(s, arg);
	}
	if (secret)
		walk_ask_severe(w, GATE_CLASS_CREDENTIALS, "credential read",
			"%s shows credentials", c->name);
	if (c->n == 2 && word_in(c->v[1].s, c->v[1].len, "apps addons releases domains "
	    "regions teams orgs projects"))
		return;
	if ((any && !reads) || changes)
		walk_ask(w, GATE_CLASS_NETWORK, "change of a cloud",
			"%s changes something at a provider", c->name);
}

/* helm: charts of the workspace and what a cluster says. */
static void
rule_helm(struct walk *w, struct gate_cmd *c, const char *arg)
{
	if (c->n > 1 && word_in(c->v[1].s, c->v[1].len, "dependency dep")) {
		rule_build(w, c);
		return;
	}
	rule_cloud(w, c, arg);
}

const struct gate_kind kinds_cloud[] = {
	{ "docker podman nerdctl", rule_docker, "+H:c:l:" },
	{ "docker-compose podman-compose", rule_compose, NULL },
	{ "kubectl oc k3s kubecolor k", rule_kubectl, "+n:" },
	{ "k9s kubectx kubens minikube kind k3d eksctl kops argocd flux istioctl "
	  "velero kustomize skaffold helmfile", rule_cloud,
	  "build ip profile" },
	{ "helm", rule_helm, "repo-list env" },
	{ "terraform tofu terragrunt pulumi cdk cdktf sam serverless sls vagrant",
	  rule_cloud, "init synth refresh-only workspace-list build" },
	{ "packer", rule_cloud, "init" },
	{ "aws gcloud az gsutil doctl hcloud linode-cli oci ibmcloud aliyun s3cmd "
	  "bq influx rclone mc azcopy b2sdk scw exo fly flyctl heroku vercel netlify firebase "
	  "wrangler railway render supabase gh-pages surge eb cf dokku now amplify "
	  "openstack virsh vboxmanage VBoxManage qm govc multipass lxc-ls limactl "
	  "colima", rule_cloud, "dev build emulators:start" },
	{ "buildah skopeo crane kaniko img ctr crictl", rule_cloud,
	  "images inspect bud build" },
	{ "ansible ansible-console ansible-galaxy salt salt-call "
	  "puppet chef-client knife fab pssh clush", rule_says,
	  "network|change of other machines|works on other machines" },
	{ "qemu-system-x86_64 qemu-img", rule_cloud, "info create" },
	{ NULL, NULL, NULL },
};
