/* Databases: what a statement or a command loses. */
#include <ctype.h>
#include <string.h>

#include "gateway/gate/rules.h"

/* One word of SQL from s; comments and literals are skipped. */
static const char *
sql_next(const char *s, const char *end, char *word, size_t size)
{
	size_t n = 0;
	word[0] = '\0';
	while (s < end) {
		if (*s == '\'' || *s == '"' || *s == '`') {
			char q = *s++;
			while (s < end && *s != q)
				s++;
			s += s < end;
			word[0] = 'x';
			word[1] = '\0';
			return s;
		}
		if (*s == '-' && s + 1 < end && s[1] == '-') {
			while (s < end && *s != '\n')
				s++;
		} else if (*s == '/' && s + 1 < end && s[1] == '*') {
			while (s < end && !(*s == '*' && s + 1 < end && s[1] == '/'))
				s++;
		} else if (isalnum((unsigned char)*s) || *s == '_') {
			while (s < end && (isalnum((unsigned char)*s) || *s == '_')) {
				if (n + 1 < size)
					word[n++] = (char)tolower((unsigned char)*s);
				s++;
			}
			word[n] = '\0';
			return s;
		} else if (*s == ';' || *s == '\\' || *s == '.') {
			word[0] = *s;
			word[1] = '\0';
			return s + 1;
		} else {
			s++;
		}
	}
	return s;
}

static void
check_sql(struct walk *w, const char *text, size_t len)
{
	const char *s = text, *end = text + len;
	char word[32], before[32] = ";";
	bool deletes = false, updates = false, where = false, copies = false;
	for (;;) {
		s = sql_next(s, end, word, sizeof(word));
		bool first = !strcmp(before, ";");
		if ((deletes || updates) && (!strcmp(word, ";") || !word[0])) {
			if (!where)
				walk_ask(w, GATE_CLASS_FILES, deletes ?
					"SQL DELETE without WHERE" :
					"SQL UPDATE without WHERE",
					"it changes every row of a table");
			deletes = updates = where = false;
		}
		if (!word[0])
			return;
		if (first && word_in(word, strlen(word), "drop"))
			walk_ask(w, GATE_CLASS_FILES, "SQL DROP",
				"it deletes a table, a database or more");
		if (first && !strcmp(word, "truncate"))
			walk_ask(w, GATE_CLASS_FILES, "SQL TRUNCATE",
				"it empties a table");
		if (first && !strcmp(word, "alter"))
			walk_ask(w, GATE_CLASS_FILES, "SQL ALTER",
				"it changes a table's shape or a user");
		if (!strcmp(word, "into") && !strcmp(before, "vacuum"))
			walk_ask(w, GATE_CLASS_FILES, "SQL that runs or writes files",
				"VACUUM INTO writes a file");
		copies |= first && !strcmp(word, "copy");
		if (copies && word_in(word, strlen(word), "program x") &&
		    word_in(before, strlen(before), "to from"))
			walk_ask(w, GATE_CLASS_CODE, "SQL that runs or writes files",
				"COPY reads or writes files of the server");
		if (first && word_in(word, strlen(word), "grant revoke shutdown load "
		    "attach call do exec execute kill flush reset"))
			walk_ask(w, GATE_CLASS_FILES, "SQL administration",
				"the statement does more than read or write rows");
		deletes |= !strcmp(word, "from") && !strcmp(before, "delete");
		updates |= first && !strcmp(word, "update");
		where |= !strcmp(word, "where") || !strcmp(word, "limit");
		if (word_in(word, strlen(word), "program outfile dumpfile pg_read_file "
		    "load_extension pg_terminate_backend xp_cmdshell lo_export "
		    "writefile edit lo_import pg_write_file load_file sys_exec"))
			walk_ask(w, GATE_CLASS_CODE, "SQL that runs or writes files",
				"the statement reaches out of the database (%s)", word);
		memcpy(before, word, sizeof(before));
	}
}

/* Meta-commands of the clients: \! and .shell run programs. */
static void
check_meta(struct walk *w, const char *s)
{
	static const char *const bad[] = { "\\!", "\\copy", "\\o", "\\w", "\\g",
		"\\i", ".shell", ".system", ".sh", ".import", ".output", ".once",
		".load", ".restore", ".read", ".excel", ".backup", ".save", ".clone",
		".archive", "system ", "source ", "\\. ", "tee ", "\\T" };
	s += strspn(s, " \t\n");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (strncasecmp(s, bad[i], strlen(bad[i])) == 0 ||
		    (i < 1 && strstr(s, bad[i])))
			walk_ask(w, GATE_CLASS_CODE, "SQL that runs or writes files",
				"the client runs or writes something else (%s)", s);
}

static void
statement(struct walk *w, const struct gate_field *f)
{
	if (f->flags & FIELD_ANY && f->s[0] == MARK_ANY) {
		walk_ask(w, GATE_CLASS_FILES, "SQL that can't be read",
			"the statement is only known at run time");
		return;
	}
	check_meta(w, f->s);
	check_sql(w, f->s, f->len);
}

static void
statements_from_input(struct walk *w, struct gate_cmd *c)
{
	if (!c->in.present)
		return;
	if (c->in.text)
		statement(w, &(struct gate_field){ c->in.text, c->in.len, 0 });
	else
		walk_ask(w, GATE_CLASS_FILES, "SQL that can't be read",
			"the statements come from a file or another command");
}

/* psql -c, mysql -e, sqlite3 DB STATEMENT ... */
static void
rule_sql_client(struct walk *w, struct gate_cmd *c, const char *arg)
{
	struct opts o;
	int k;
	size_t words = 0;
	bool given = false, lite = strstr(c->name, "sqlite") || strstr(c->name, "duck");
	opts_init(&o, c, arg, "command execute eval file query host port user "
		"username dbname database password init-command cmd init");
	while ((k = opts_next(&o)) != OPT_END) {
		bool text = (strchr("ceqQ", k) && k < 256 && o.val) || (k == OPT_LONG &&
			(opts_long(&o, "command", 3) || opts_long(&o, "execute", 3) ||
			opts_long(&o, "query", 3) || opts_long(&o, "eval", 3) ||
			opts_long(&o, "cmd", 3) || opts_long(&o, "init-command", 5)));
		/* "-cmd TEXT" of sqlite3 */
		if (text) {
			given = true;
			statement(w, &o.val_field);
		} else if (k == 'f' || (k == OPT_LONG && opts_long(&o, "file", 2))) {
			given = true;
			walk_ask(w, GATE_CLASS_FILES, "SQL that can't be read",
				"the statements are in a file (%s)",
				o.val ? o.val : "");
		} else if (k == OPT_WORD && ++words > 1 && lite) {
			given = true;
			statement(w, o.word);
		} else if (k == OPT_WORD && lite) {
			path_check_write(w, o.word, "opens");
		} else if ((k == 'l' || k == 'V' || k == 'h') && k < 256) {
			given |= !o.val;
		} else if (k == OPT_LONG) {
			given |= opts_long(&o, "list", 4) ||
				opts_long(&o, "version", 4) || opts_long(&o, "help", 4);
		}
	}
	if (!given && c->in.present)
		statements_from_input(w, c);
	else if (!given)
		walk_ask(w, GATE_CLASS_CODE, "interactive interpreter",
			"%s would wait for statements that nobody sees here", c->name);
}

static void
rule_redis(struct walk *w, struct gate_cmd *c, const char *arg)
{
	static const char reads[] = "ping get mget keys scan exists ttl pttl type info "
		"llen lrange hget hgetall hkeys hlen smembers scard sismember zrange "
		"zcard zscore dbsize monitor client time strlen lindex echo config "
		"memory slowlog object randomkey xlen xrange xinfo set incr decr "
		"expire hset lpush rpush sadd zadd append setex setnx incrby del "
		"hdel lpop rpop srem publish subscribe auth select";
	struct opts o;
	int k;
	opts_init(&o, c, arg, "user pass eval pattern count type");
	while ((k = opts_next(&o)) != OPT_END && k != OPT_WORD)
		if (k == OPT_LONG && opts_long(&o, "eval", 3))
			walk_ask(w, GATE_CLASS_CODE, "code that can't be read",
				"it runs a script in the database");
	if (k != OPT_WORD) {
		statements_from_input(w, c);
		if (c->n == 1 && !c->in.present)
			walk_ask(w, GATE_CLASS_CODE, "interactive interpreter",
				"%s would wait for commands", c->name);
		return;
	}
	char verb[32] = "";
	for (size_t i = 0; i < 31 && o.word->s[i]; i++)
		verb[i] = (char)tolower((unsigned char)o.word->s[i]);
	bool set = !strcmp(verb, "config") && !cmd_arg_is(c, o.i, "get") &&
		!cmd_arg_is(c, o.i, "GET");
	bool kill = !strcmp(verb, "client") && (cmd_arg_is(c, o.i, "kill") ||
		cmd_arg_is(c, o.i, "KILL"));
	bool any = false;	/* which key goes can't be told */
	for (size_t i = o.i; i < c->n; i++)
		any |= (c->v[i].flags & FIELD_ANY) != 0;
	if (!word_in(verb, strlen(verb), reads) || set || kill ||
	    (any && !strcmp(verb, "del")))
		walk_ask(w, GATE_CLASS_FILES, "database emptied or changed",
			"redis %s can lose data or run code", verb);
}

/* mongosh --eval: reading calls only. */
static void
rule_mongo(struct walk *w, struct gate_cmd *c, const char *arg)
{
	struct opts o;
	int k;
	opts_init(&o, c, arg, "eval host port username password file");
	while ((k = opts_next(&o)) != OPT_END) {
		const struct gate_field *f = k == OPT_WORD ? o.word : &o.val_field;
		bool script = k == OPT_WORD ? f->len > 3 &&
			strcmp(f->s + f->len - 3, ".js") == 0 :
			k == 'f' || (k == OPT_LONG && opts_long(&o, "file", 4));
		if (script)
			walk_ask(w, GATE_CLASS_FILES, "SQL that can't be read",
				"what it does is in a file (%s)", f->s);
		if (k != OPT_LONG || !opts_long(&o, "eval", 3) || !o.val)
			continue;
		static const char *const bad[] = { "drop", "delete", "remove",
			"update", "insert", "replace", "shutdown", "eval", "run",
			"rename", "create", "bulk", "exec", "load", "kill", "set" };
		for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
			if (strcasestr(o.val, bad[i])) {
				walk_ask(w, GATE_CLASS_FILES,
					"database emptied or changed",
					"the code changes the database (%s)", o.val);
				break;
			}
		if (o.val_field.flags & FIELD_ANY)
			walk_ask(w, GATE_CLASS_CODE, "code that can't be read",
				"the code is only known at run time");
	}
	if (c->in.present && !opts_has(c, arg, "", "eval"))
		statements_from_input(w, c);
}

const struct gate_kind kinds_data[] = {
	{ "psql pgcli cockroach", rule_sql_client, "c:f:d:h:p:U:o:L:v:F:P:R:T:" },
	{ "mysql mariadb mycli", rule_sql_client, "e:h:u:P:D:S:p::" },
	{ "sqlite3 sqlite litecli duckdb", rule_sql_client, "c:" },
	{ "sqlcmd isql usql clickhouse-client clickhouse snowsql trino presto "
	  "cqlsh impala-shell beeline", rule_sql_client, "q:Q:e:S:U:P:d:h:f:" },
	{ "redis-cli valkey-cli keydb-cli", rule_redis, "h:p:a:n:u:r:i:s:" },
	{ "mongo mongosh", rule_mongo, "u:p:f:" },
	{ "pg_dump pg_dumpall mysqldump mongoexport mongodump mysqlcheck", rule_says,
	  "network|data sent out|takes a whole database" },
	{ "dropdb dropuser createuser pg_restore pg_ctl initdb mongorestore "
	  "mysqlimport pg_resetwal pg_ctlcluster createdb "
	  "pg_dropcluster", rule_says,
	  "files|database emptied or changed|changes whole databases" },
	{ "mysqladmin", rule_unless, "ping status version processlist variables "
	  "extended-status|files|database emptied or changed|changes whole "
	  "databases" },
	{ "rabbitmqctl etcdctl consul nomad zookeeper-shell kafka-topics "
	  "kafka-topics.sh memcached-tool", rule_says,
	  "files|database emptied or changed|changes a running service" },
	{ NULL, NULL, NULL },
};
