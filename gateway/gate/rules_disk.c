/* Disks: what destroys one is never, what mounts or reads one asks. */
#include <string.h>

#include "gateway/gate/rules.h"

static bool
is_disk(struct walk *w, const struct gate_field *f)
{
	return path_of(w, f).zone == ZONE_BLOCK;
}

static void
rule_dd(struct walk *w, struct gate_cmd *c, const char *arg)
{
	(void)arg;
	for (size_t i = 1; i < c->n; i++) {
		struct gate_field f = c->v[i];
		bool in = field_starts(&f, "if="), out = field_starts(&f, "of=");
		if (!in && !out) {
			if ((f.flags & FIELD_ANY) && f.s[0] == MARK_ANY)
				walk_ask(w, GATE_CLASS_FILES, "disk copy",
					"where dd writes is only known at run time");
			continue;
		}
		f.s += 3;
		f.len -= 3;
		if (in)
			path_check_read(w, &f);
		else
			path_check_replace(w, &f, "writes");
		if (in && is_disk(w, &f))
			walk_ask(w, GATE_CLASS_FILES, "disk copy",
				"dd reads the raw disk %s", f.s);
		if (out)
			path_note_written(w, &f, false);
	}
}

/* mkfs and wipers: on a device never, on an image in the workspace they ask. */
static void
rule_format(struct walk *w, struct gate_cmd *c, const char *arg)
{
	bool image = false;
	for (size_t i = 1; i < c->n; i++) {
		const struct gate_field *f = &c->v[i];
		struct path p = path_of(w, f);
		if (p.zone == ZONE_BLOCK || (f->s[0] != '-' && p.zone == ZONE_DEVICE))
			walk_never(w, arg, "%s destroys what is on %s", c->name, f->s);
		else if (f->s[0] != '-' && (p.zone == ZONE_INSIDE ||
		    p.zone == ZONE_TMP))
			image = true;
	}
	(void)image;
	walk_ask(w, GATE_CLASS_FILES, arg, "%s destroys what was there before",
		c->name);
}

/* Partition tools: showing is fine. */
static void
rule_parted(struct walk *w, struct gate_cmd *c, const char *arg)
{
	static const char lists[] = "print -l --list -p --print -V unit free -i -d "
		"--dump -s --script help";
	bool changes = false, disk = false;
	(void)arg;
	for (size_t i = 1; i < c->n; i++) {
		if (is_disk(w, &c->v[i]))
			disk = true;
		else if (!word_in(c->v[i].s, c->v[i].len, lists))
			changes = true;
	}
	if (opts_has(c, "", "lp", "list print dump"))
		return;
	if (disk && (changes || c->in.present))
		walk_never(w, "format filesystem",
			"%s changes the partitions of a disk", c->name);
	else if (changes || disk)
		walk_ask(w, GATE_CLASS_FILES, "format filesystem",
			"%s may change partitions", c->name);
}

/* luksFormat, erase... as subcommands. */
static void
rule_disk_verb(struct walk *w, struct gate_cmd *c, const char *arg)
{
	for (size_t i = 1; i < c->n; i++)
		if (word_in(c->v[i].s, c->v[i].len, arg)) {
			walk_never(w, "format filesystem",
				"%s %s destroys what is on the disk", c->name,
				c->v[i].s);
			return;
		}
	if (c->n > 1 && !word_in(c->v[1].s, c->v[1].len, "list info status "
	    "luksDump --list show"))
		walk_ask(w, GATE_CLASS_FILES, "disk settings", "%s works on disks",
			c->name);
}

/* lvremove, zpool destroy ...: arg is the list of verbs that lose it all. */
static void
rule_volumes(struct walk *w, struct gate_cmd *c, const char *arg)
{
	bool lost = strstr(c->name, "remove") != NULL;
	bool makes = word_in(c->name, strlen(c->name), "pvcreate vgcreate");
	for (size_t i = 1; i < c->n; i++) {
		lost |= word_in(c->v[i].s, c->v[i].len, arg);
		makes |= word_in(c->v[i].s, c->v[i].len, "create add --create -C "
			"attach replace");
		lost |= makes && is_disk(w, &c->v[i]);
	}
	if (lost && (opts_has(c, "", "fy", "force yes zero-superblock") ||
	    !strstr(c->name, "remove")))
		walk_never(w, "format filesystem", "%s destroys what is on a disk "
			"or volume", c->name);
	else
		walk_ask(w, GATE_CLASS_FILES, "disk settings",
			"%s works on whole disks and volumes", c->name);
}

static void
rule_mount(struct walk *w, struct gate_cmd *c, const char *arg)
{
	(void)arg;
	if (c->n == 1 || (c->n == 2 && field_is(&c->v[1], "-l")))
		return;
	walk_ask_severe(w, GATE_CLASS_FILES, "mount", "%s changes what is where",
		c->name);
}

static void
rule_swap(struct walk *w, struct gate_cmd *c, const char *arg)
{
	if (opts_has(c, "", "s", "show summary"))
		return;
	walk_ask(w, GATE_CLASS_FILES, arg, "%s changes the machine's memory",
		c->name);
}

static void
rule_losetup(struct walk *w, struct gate_cmd *c, const char *arg)
{
	if (c->n == 1 || (opts_has(c, "", "al", "all list") && c->n == 2))
		return;
	walk_ask(w, GATE_CLASS_FILES, arg, "%s makes or changes devices", c->name);
}

static void
rule_hdparm(struct walk *w, struct gate_cmd *c, const char *arg)
{
	if (opts_has(c, "", "", "security-erase security-erase-enhanced "
	    "trim-sector-ranges make-bad-sector format write-sector sanitize") ||
	    (c->n > 1 && word_in(c->v[1].s, c->v[1].len, arg)))
		walk_never(w, "format filesystem", "%s destroys the disk", c->name);
	else if (!opts_has(c, "", "iItT", "info list"))
		walk_ask(w, GATE_CLASS_FILES, "disk settings",
			"%s changes a disk's settings", c->name);
}

const struct gate_kind kinds_disk[] = {
	{ "dd dcfldd ddrescue", rule_dd, NULL },
	{ "mkfs mke2fs mkfs.ext2 mkfs.ext3 mkfs.ext4 mkfs.xfs mkfs.btrfs mkfs.vfat "
	  "mkfs.fat mkfs.msdos mkfs.ntfs mkfs.f2fs mkfs.exfat mkfs.minix "
	  "mkfs.cramfs mkntfs mkdosfs newfs mkswap mkexfatfs mkreiserfs "
	  "zpool-create format", rule_format, "format filesystem" },
	{ "wipefs blkdiscard badblocks scrub nwipe sg_format dban fstrim",
	  rule_format, "write to block device" },
	{ "parted fdisk sfdisk cfdisk gdisk sgdisk cgdisk partprobe gparted",
	  rule_parted, NULL },
	{ "cryptsetup", rule_disk_verb, "luksFormat erase luksErase reencrypt" },
	{ "diskutil", rule_disk_verb, "eraseDisk eraseVolume zeroDisk randomDisk "
	  "secureErase partitionDisk reformat" },
	{ "mdadm lvm vgremove lvremove pvremove lvreduce vgreduce pvcreate vgcreate "
	  "lvcreate lvresize lvextend dmsetup zfs zpool btrfs resize2fs tune2fs "
	  "e2fsck fsck fsck.ext4 xfs_repair debugfs xfs_growfs e2label ntfsfix",
	  rule_volumes, "destroy labelclear --zero-superblock" },
	{ "mount umount fusermount fusermount3 sshfs pmount udisksctl", rule_mount,
	  NULL },
	{ "swapon swapoff zramctl", rule_swap, "disk settings" },
	{ "losetup kpartx qemu-nbd nbd-client", rule_losetup, "disk settings" },
	{ "hdparm nvme sdparm smartctl", rule_hdparm, "format sanitize" },
	{ "eject", rule_says, "files|disk settings|works on a drive" },
	{ NULL, NULL, NULL },
};
