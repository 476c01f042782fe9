/* Accounts, kernel, settings, keys; and the rules that only say something. */
#include <string.h>

#include "gateway/gate/rules.h"

void
rule_says(struct walk *w, struct gate_cmd *c, const char *arg)
{
	static const char *const names[] = { "files", "code", "network",
		"credentials", "display" };
	size_t n = strcspn(arg, "|");
	enum gate_class class = GATE_CLASS_FILES;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strlen(names[i]) == n && memcmp(names[i], arg, n) == 0)
			class = (enum gate_class)i;
	arg += n + 1;
	n = strcspn(arg, "|");
	walk_ask(w, class, arena_strn(w->arena, arg, n), "%s %s", c->name,
		arg + n + 1);
}

void
rule_unless(struct walk *w, struct gate_cmd *c, const char *arg)
{
	size_t n = strcspn(arg, "|");
	const char *reads = arena_strn(w->arena, arg, n);
	if (c->n == 1 && word_in("-", 1, reads))
		return;
	for (size_t i = 1; i < c->n; i++)
		if (word_in(c->v[i].s, c->v[i].len, reads))
			return;
	rule_says(w, c, arg + n + 1);
}

static void
rule_loginctl(struct walk *w, struct gate_cmd *c, const char *arg)
{
	if (c->n > 1 && word_in(c->v[1].s, c->v[1].len, "reboot poweroff halt suspend "
	    "hibernate hybrid-sleep"))
		walk_never(w, "system shutdown/reboot", "loginctl %s stops the machine",
			c->v[1].s);
	rule_unless(w, c, arg);
}

static void
rule_sysctl(struct walk *w, struct gate_cmd *c, const char *arg)
{
	bool sets = opts_has(c, "p::", "wp", "write load system");
	(void)arg;
	for (size_t i = 1; i < c->n; i++)
		sets |= strchr(c->v[i].s, '=') != NULL;
	if (sets)
		walk_ask_severe(w, GATE_CLASS_FILES, "change of kernel settings",
			"it changes how the kernel behaves");
}

static void
rule_gpg(struct walk *w, struct gate_cmd *c, const char *arg)
{
	(void)arg;
	for (size_t i = 1; i < c->n; i++) {
		const char *s = c->v[i].s;
		if (!strcmp(s, "--list-secret-keys"))	/* their names */
			continue;
		if (strstr(s, "secret") || strstr(s, "delete") || !strcmp(s, "-d") ||
		    strstr(s, "decrypt") || strstr(s, "edit-key") ||
		    strstr(s, "send-keys") || strstr(s, "passphrase"))
			walk_ask_severe(w, GATE_CLASS_CREDENTIALS, "credential read",
				"it works with secret keys (%s)", s);
	}
}

static void
rule_kexec(struct walk *w, struct gate_cmd *c, const char *arg)
{
	if (opts_has(c, "", "e", "exec"))
		walk_never(w, "system shutdown/reboot", "it starts another kernel");
	rule_says(w, c, arg);
}

const struct gate_kind kinds_system[] = {
	{ "kexec", rule_kexec, "files|change of system settings|changes the kernel" },
	{ "sysctl", rule_sysctl, NULL },
	{ "modprobe insmod rmmod depmod kmod dkms update-grub grub-install "
	  "grub-mkconfig update-initramfs mkinitcpio dracut efibootmgr bootctl "
	  "ldconfig update-ca-certificates setenforce apparmor_parser aa-disable "
	  "auditctl", rule_says,
	  "files|change of system settings|changes the kernel or how it starts" },
	{ "passwd", rule_unless, "-S --status|files|change of accounts|changes a password" },
	{ "useradd adduser userdel deluser usermod groupadd groupdel groupmod "
	  "addgroup delgroup gpasswd chpasswd chage chsh chfn visudo vipw "
	  "vigr newusers pwconv", rule_says,
	  "files|change of accounts|changes who may log in and as what" },
	{ "setcap getcap-set setsebool semanage chcon restorecon", rule_says,
	  "files|set-user-id bit|gives programs other rights" },
	{ "getcap sestatus getenforce aa-status", rule_unless,
	  "- |files|x|x" },
	{ "update-alternatives dpkg-reconfigure localedef locale-gen "
	  "systemd-tmpfiles authselect pam-auth-update debconf-set-selections",
	  rule_unless,
	  "--display --list --query --get-selections|files|change of system "
	  "settings|changes the system's settings" },
	{ "loginctl", rule_loginctl, "- status show list list-sessions list-users "
	  "show-session show-user session-status user-status list-seats|files|"
	  "change of system settings|changes sessions of users" },
	{ "hostnamectl timedatectl localectl networkctl", rule_unless,
	  "- status show list list-sessions list-users list-timezones "
	  "show-session|files|change of system settings|changes the system's "
	  "settings" },
	{ "hwclock ntpdate chronyc rtcwake", rule_unless,
	  "-r --show tracking sources|files|change of system settings|sets the "
	  "clock" },
	{ "gsettings dconf defaults xdg-mime xdg-settings kwriteconfig5 "
	  "scutil networksetup nvram csrutil spctl xattr", rule_unless,
	  "get read list list-schemas list-keys query --query -l|files|change of "
	  "system settings|changes the user's or system's settings" },
	{ "pass gopass secret-tool security keyctl op bw lpass vault chamber sops age "
	  "doppler infisical aws-vault credstash gnome-keyring-daemon", rule_says,
	  "credentials|credential read|hands out stored secrets" },
	{ "gpg gpg2", rule_gpg, NULL },
	{ "xdg-open open start notify-send", rule_says,
	  "code|opens a program|starts whatever is set for it" },
	{ "xclip xsel pbcopy pbpaste wl-copy wl-paste import scrot xwd screencapture "
	  "xdotool ydotool wtype xinput arecord fswebcam", rule_says,
	  "credentials|desktop session|reads or drives the user's desktop" },
	{ "reg schtasks powercfg vssadmin bcdedit wmic format.com del rd cipher "
	  "diskpart icacls takeown sc wbadmin", rule_says,
	  "files|Windows tool|changes a Windows system" },
	{ "hermes gatehouse openclaw", rule_unless,
	  "status list show doctor --version version help|files|stop/restart "
	  "gateway|works on the gateway itself" },
	{ "ansible-playbook", rule_unless, "--syntax-check --list-tasks --list-hosts "
	  "--list-tags --version|network|change of other machines|works on other "
	  "machines" },
	{ "claude codex gemini aider goose opencode amp cursor-agent q copilot llm "
	  "ollama", rule_unless, "--version list ps show -v|code|another agent|is "
	  "another agent, which runs what it likes" },
	{ NULL, NULL, NULL },
};
