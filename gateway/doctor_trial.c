#include "gateway/doctor_trial.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"

#define LEVEL_CURE "see which level the sandbox has, above; native.minimum: full " \
	"refuses to work with less"

/* Within a second, to be sure also on a busy machine; DNS takes five. */
#define AT_ONCE "e=${EPOCHREALTIME/./}\n" \
	"[ $((e - s)) -lt 1000000 ] || { echo \"it took $((e - s)) us\"; exit 1; }"

const struct doctor_trial doctor_trials[] = {
	{ "host files can't be written", SANDBOX_NO_HOST_FILES,
	  "for d in / /etc /usr /usr/bin /var /home /root /boot \"$STATE\"; do\n"
	  "if (: >\"$d/.gatehouse-doctor\") 2>/dev/null; then\n"
	  "rm -f \"$d/.gatehouse-doctor\"; bad=\"$bad $d\"; fi; done\n"
	  "[ -z \"$bad\" ] || { echo \"writable:$bad\"; exit 1; }",
	  LEVEL_CURE, NULL, "full" },
	/* Its own layer and the engine's volumes are no files of the host. */
	{ "no directory of the host is writable but the sandbox's own",
	  SANDBOX_NO_HOST_FILES,
	  "while read -r id parent dev root on how rest; do case $rest in\n"
	  "*'- overlay '*|*'- fuse.fuse-overlayfs '*|*'- tmpfs '*|*'- proc '*|\\\n"
	  "*'- sysfs '*|*'- cgroup'*|*'- devpts '*|*'- mqueue '*) continue;; esac\n"
	  "case $root in */_data|*/vfs/dir/*) continue;; esac\n"
	  "case $on in /workspace|/root|/etc/hosts|/etc/hostname|\\\n"
	  "/etc/resolv.conf|/run/.containerenv) continue;; esac\n"
	  "case ,$how, in *,rw,*) bad=\"$bad $on\";; esac\n"
	  "done </proc/self/mountinfo\n"
	  "[ -z \"$bad\" ] || { echo \"writable:$bad\"; exit 1; }",
	  "look at terminal.docker_volumes and docker_extra_args", NULL,
	  "container" },
	{ "the state directory can't be read", SANDBOX_NO_HOST_FILES,
	  "if ls \"$STATE\" >/dev/null 2>&1; then echo \"$STATE can be listed\"\n"
	  "exit 1; fi\n"
	  "if (: <\"$STATE/instance.json\") 2>/dev/null; then\n"
	  "echo \"a file in $STATE can be read\"; exit 1; fi", LEVEL_CURE, NULL, NULL },
	{ "host processes can't be seen", SANDBOX_NO_HOST_PROCS,
	  "n=0; for p in /proc/[0-9]*; do n=$((n + 1)); done\n"
	  "[ $n -le 16 ] || { echo \"$n processes\"; exit 1; }\n"
	  "c=; read -r c <\"/proc/$PID/comm\" 2>/dev/null\n"
	  "case $c in gatehouse) echo \"process $PID is seen\"; exit 1;; esac\n"
	  "exit 0", LEVEL_CURE, NULL, NULL },
	{ "the host's network can't be reached, and that is told at once",
	  SANDBOX_NO_NETWORK,
	  "s=${EPOCHREALTIME/./}\n"
	  "if (exec 3<>/dev/tcp/127.0.0.1/$PORT) 2>/dev/null; then\n"
	  "echo \"127.0.0.1:$PORT of the host answers\"; exit 1; fi\n"
	  AT_ONCE, "native.network: none", NULL, NULL },
	{ "no name is looked up inside, and that is told at once",
	  SANDBOX_NO_NETWORK,
	  ": ${NAME:=doctor.gatehouse.example}\n"
	  "s=${EPOCHREALTIME/./}\n"
	  /* bash tells a name it knows from one it doesn't. */
	  "e=$( (exec 3<>/dev/tcp/$NAME/9) 2>&1)\n"
	  "case $e in *[Nn]ame*|*resol*) ;;\n"
	  "*) echo \"$NAME is known\"; exit 1;; esac\n" AT_ONCE,
	  "look at /etc/nsswitch.conf and /etc/resolv.conf of the image", NULL, NULL },
	{ "the one way out refuses what is never reached", SANDBOX_NO_NETWORK,
	  "exec 4<>/dev/tcp/127.0.0.1/3128 || exit 1\n"
	  "printf 'CONNECT 169.254.169.254:80 HTTP/1.1\\r\\n\\r\\n' >&4\n"
	  "read -r a b c <&4\n"
	  "[ \"$b\" = 403 ] || { echo \"the proxy said: $a $b $c\"; exit 1; }",
	  "native.network: none", "filtered", NULL },
	{ "no credentials are passed in", SANDBOX_NO_CREDENTIALS,
	  "n=$(export -p | sed -n 's/^declare -x \\([A-Z_]*\\(TOKEN\\|KEY\\|SECRET\\|"
	  "PASSWORD\\)\\)=.*/\\1/p')\n"
	  "[ -z \"$n\" ] || { echo \"variables:\" $n; exit 1; }",
	  "look at terminal.env_passthrough", NULL, NULL },
	{ "commands have few privileges, can't get more, and a filter", 0,
	  "while read -r k v; do case $k in\n"
	  "CapEff:|CapPrm:|CapBnd:|CapInh:)\n"
	  "[ $((0x$v & ~0xeb)) = 0 ] || bad=\"$bad $k$v\";;\n"
	  "NoNewPrivs:) [ \"$v\" = 1 ] || bad=\"$bad $k$v\";;\n"
	  "Seccomp:) [ \"$v\" = 2 ] || bad=\"$bad $k$v\";; esac\n"
	  "done </proc/self/status\n"
	  /* The engine's own, under which all of the container is. */
	  "while read -r k v; do case $k in Seccomp:)\n"
	  "[ \"$v\" = 2 ] || bad=\"$bad 1:$k$v\";; esac; done </proc/1/status\n"
	  "[ -z \"$bad\" ] || { echo \"$bad\"; exit 1; }",
	  "look at terminal.docker_extra_args, and at the engine's seccomp profile",
	  NULL, "container" },
	{ "commands have no privileges and a filter", 0,
	  "while read -r k v; do case $k in\n"
	  "CapEff:|CapPrm:|CapBnd:|CapInh:) [ -z \"${v//0/}\" ] || bad=\"$bad $k$v\";;\n"
	  "NoNewPrivs:) [ \"$v\" = 1 ] || bad=\"$bad $k$v\";;\n"
	  "Seccomp:) [ \"$v\" = 2 ] || bad=\"$bad $k$v\";; esac\n"
	  "done </proc/self/status\n"
	  "[ -z \"$bad\" ] || { echo \"$bad\"; exit 1; }", LEVEL_CURE, NULL,
	  "full" },
	{ "new user namespaces are refused", 0,
	  "command -v unshare >/dev/null || exit 0\n"
	  "if unshare -U true 2>/dev/null; then echo 'unshare -U works'; exit 1; fi",
	  LEVEL_CURE, NULL, NULL },
};
const unsigned doctor_ntrials = ARRAY_LEN(doctor_trials);

char *
doctor_trial_command(const struct doctor_trial *trial, const char *state,
	int pid, int port)
{
	struct buf out;

	buf_init(&out, 65536);
	buf_add_str(&out, "STATE='");
	for (; *state; state++)
		if (*state == '\'')
			buf_add_str(&out, "'\\''");
		else
			buf_add_char(&out, *state);
	buf_printf(&out, "' PID=%d PORT=%d bad=\n%s\n", pid, port, trial->script);
	return buf_take(&out);
}

int
doctor_trial_listen(int *ret_port)
{
	struct sockaddr_in addr = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(addr);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -1;
	if (bind(fd, (struct sockaddr *)&addr, len) || listen(fd, 4) ||
	    getsockname(fd, (struct sockaddr *)&addr, &len)) {
		close(fd);
		return -1;
	}
	*ret_port = ntohs(addr.sin_port);
	return fd;
}
