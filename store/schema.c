#include "store/schema.h"

#include "base/mem.h"

#define APPLICATION_ID 0x67617465	/* "gate" */

/*
 * States are words, so that a person with the sqlite3 shell can read them.
 * Partial indexes keep "what is open" cheap however much is stored.  What a
 * person or the model said is stored once: inbox.text is emptied when the words
 * are in the transcript, outbox.text when the whole answer was delivered.
 */
static const char version_1[] =
/* Single values by key; today what proves that a commit works. */
"CREATE TABLE meta(profile TEXT NOT NULL, key TEXT NOT NULL,"
" value TEXT NOT NULL, PRIMARY KEY(profile, key)) WITHOUT ROWID;"

/* An account at a platform; cursor: where its intake stands. */
"CREATE TABLE source(id INTEGER PRIMARY KEY, profile TEXT NOT NULL,"
" platform TEXT NOT NULL, account TEXT NOT NULL,"
" cursor TEXT, cursor_at INTEGER NOT NULL DEFAULT 0,"
" UNIQUE(profile, platform, account));"

"CREATE TABLE session(id INTEGER PRIMARY KEY, profile TEXT NOT NULL,"
" session_key TEXT NOT NULL, source INTEGER REFERENCES source(id),"
" chat_id TEXT NOT NULL DEFAULT '', origin TEXT NOT NULL DEFAULT '{}',"
" conversation INTEGER REFERENCES conversation(id),"
" generation INTEGER NOT NULL DEFAULT 0,"	/* never reset (rules 1.6) */
" attempts INTEGER NOT NULL DEFAULT 0,"		/* resumes of the open set */
" created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL,"
" UNIQUE(profile, session_key));"
"CREATE INDEX session_chat ON session(source, chat_id);"
"CREATE INDEX session_updated ON session(profile, updated_at);"

/* Old keys and chat ids after a chat got a new id. */
"CREATE TABLE session_alias(profile TEXT NOT NULL, session_key TEXT NOT NULL,"
" session INTEGER NOT NULL REFERENCES session(id),"
" PRIMARY KEY(profile, session_key)) WITHOUT ROWID;"
"CREATE TABLE chat_alias(source INTEGER NOT NULL REFERENCES source(id),"
" old_id TEXT NOT NULL, new_id TEXT NOT NULL,"
" PRIMARY KEY(source, old_id)) WITHOUT ROWID;"

"CREATE TABLE conversation(id INTEGER PRIMARY KEY,"
" session_id TEXT NOT NULL UNIQUE,"
" session INTEGER NOT NULL REFERENCES session(id), title TEXT,"
" created_at INTEGER NOT NULL, ended_at INTEGER, end_reason TEXT);"
"CREATE INDEX conversation_session ON conversation(session);"
"CREATE INDEX conversation_title ON conversation(title COLLATE NOCASE)"
" WHERE title IS NOT NULL;"

/* state: open, finished, cancelled, stopped; answer: group of its chunks */
"CREATE TABLE run(id INTEGER PRIMARY KEY,"
" session INTEGER NOT NULL REFERENCES session(id),"
" conversation INTEGER NOT NULL REFERENCES conversation(id),"
" generation INTEGER NOT NULL, state TEXT NOT NULL, outcome TEXT,"
" cut INTEGER NOT NULL DEFAULT 0, entry INTEGER, answer INTEGER,"
" started_at INTEGER NOT NULL, ended_at INTEGER, UNIQUE(session, generation));"
"CREATE INDEX run_open ON run(session) WHERE state = 'open';"

/* The order is (generation, id): ids are given by the only writer. */
"CREATE TABLE transcript(id INTEGER PRIMARY KEY,"
" conversation INTEGER NOT NULL REFERENCES conversation(id),"
" generation INTEGER NOT NULL, hidden INTEGER NOT NULL DEFAULT 0,"
" at INTEGER NOT NULL, body TEXT NOT NULL);"
"CREATE INDEX transcript_order ON transcript(conversation, generation);"

/*
 * state: waiting, owned (by the session's newest run), answered (by run),
 * stopped, recorded, parked
 */
"CREATE TABLE inbox(id INTEGER PRIMARY KEY,"
" source INTEGER NOT NULL REFERENCES source(id), kind_name TEXT NOT NULL,"
" event_id TEXT NOT NULL, kind INTEGER NOT NULL,"
" session INTEGER REFERENCES session(id), chat_id TEXT NOT NULL,"
" thread_id TEXT NOT NULL, user_id TEXT NOT NULL, msg_id TEXT NOT NULL,"
" ref_id TEXT, text TEXT, payload TEXT, sent_at INTEGER NOT NULL,"
" accepted_at INTEGER NOT NULL, state TEXT NOT NULL,"
" run INTEGER REFERENCES run(id), entry INTEGER, answer INTEGER,"
" UNIQUE(source, kind_name, event_id));"
"CREATE INDEX inbox_waiting ON inbox(session) WHERE state = 'waiting';"
"CREATE INDEX inbox_owned ON inbox(session) WHERE state = 'owned';"
"CREATE INDEX inbox_run ON inbox(run) WHERE run IS NOT NULL;"

/* state: started, ended, unknown, lost (found started at boot, to be told) */
"CREATE TABLE tool(run INTEGER NOT NULL REFERENCES run(id),"
" call_id TEXT NOT NULL, name TEXT NOT NULL, args TEXT NOT NULL,"
" read_only INTEGER NOT NULL, state TEXT NOT NULL,"
" started_at INTEGER NOT NULL, ended_at INTEGER,"
" PRIMARY KEY(run, call_id)) WITHOUT ROWID;"
"CREATE INDEX tool_started ON tool(run) WHERE state = 'started';"
"CREATE INDEX tool_lost ON tool(run) WHERE state = 'lost';"

/* state: waiting, sending, delivered, refused, unknown, withdrawn, parked */
"CREATE TABLE outbox(id INTEGER PRIMARY KEY AUTOINCREMENT,"
" source INTEGER NOT NULL REFERENCES source(id),"
" session INTEGER REFERENCES session(id), run INTEGER REFERENCES run(id),"
" grp INTEGER NOT NULL DEFAULT 0, kind INTEGER NOT NULL,"
" chat_id TEXT NOT NULL, thread_id TEXT NOT NULL, text TEXT NOT NULL,"
" plain INTEGER NOT NULL, reply_to TEXT, buttons TEXT,"
" edit_of INTEGER NOT NULL DEFAULT 0, nonce TEXT NOT NULL,"
" state TEXT NOT NULL, attempts INTEGER NOT NULL DEFAULT 0,"
" not_before INTEGER NOT NULL DEFAULT 0, wait INTEGER NOT NULL DEFAULT 0,"
" msg_id TEXT NOT NULL DEFAULT '', why TEXT,"
" resent INTEGER NOT NULL DEFAULT 0,"
" created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL);"
"CREATE INDEX outbox_waiting ON outbox(source, chat_id, thread_id)"
" WHERE state = 'waiting';"
"CREATE INDEX outbox_sending ON outbox(source, chat_id, thread_id)"
" WHERE state = 'sending';"
"CREATE INDEX outbox_unknown ON outbox(updated_at) WHERE state = 'unknown';"
"CREATE INDEX outbox_run ON outbox(run) WHERE run IS NOT NULL;"
"CREATE INDEX outbox_group ON outbox(grp);"

/* state: open, closed */
"CREATE TABLE approval(profile TEXT NOT NULL, id TEXT NOT NULL,"
" session INTEGER NOT NULL REFERENCES session(id),"
" run INTEGER NOT NULL REFERENCES run(id), row TEXT NOT NULL,"
" state TEXT NOT NULL, outcome TEXT, who TEXT,"
" opened_at INTEGER NOT NULL, closed_at INTEGER,"
" PRIMARY KEY(profile, id)) WITHOUT ROWID;"
"CREATE INDEX approval_open ON approval(session) WHERE state = 'open';"
"CREATE INDEX approval_run ON approval(run);"

"CREATE TABLE ledger(profile TEXT NOT NULL, kind TEXT NOT NULL,"
" id TEXT NOT NULL, row TEXT NOT NULL,"
" PRIMARY KEY(profile, kind, id)) WITHOUT ROWID;";

/* outbox: also shown (a preview) and replaced (by the answer). */
static const char version_2[] =
"CREATE INDEX outbox_shown ON outbox(source, chat_id, thread_id)"
" WHERE state = 'shown';";

/* session.model: a person's choice for this session. */
static const char version_3[] =
"ALTER TABLE session ADD COLUMN model TEXT;";

/* outbox.owed: its chat has to be told what became of it, and was not yet. */
static const char version_4[] =
"ALTER TABLE outbox ADD COLUMN owed INTEGER NOT NULL DEFAULT 0;"
"CREATE INDEX outbox_owed ON outbox(source, chat_id) WHERE owed = 1;";

static const char *const migrations[SCHEMA_VERSION] = {
	version_1, version_2, version_3, version_4,
};

static int
schema_version(struct db *db, int64_t *ret, struct err *err)
{
	int64_t tables = 0, app = 0;

	if (db_int(db, err, ret, "PRAGMA user_version") == -1 ||
	    db_int(db, err, &app, "PRAGMA application_id") == -1 ||
	    db_int(db, err, &tables, "SELECT count(*) FROM sqlite_schema") == -1)
		return -1;
	if (tables > 0 && app != APPLICATION_ID)
		return err_set(err, ERR_CONFIG, "this database was not made by "
		    "gatehouse: move it away or choose another directory");
	if (*ret > SCHEMA_VERSION)
		return err_set(err, ERR_CONFIG, "this database has version %d "
		    "and this gatehouse knows %d: install the newer gatehouse",
		    (int)*ret, SCHEMA_VERSION);
	return 0;
}

static int
migrate_step(struct db *db, int64_t from, struct err *err)
{
	char *tail = mem_printf("PRAGMA application_id = %d;"
	    "PRAGMA user_version = %d; COMMIT", APPLICATION_ID, (int)from + 1);
	int rc = db_script(db, "BEGIN IMMEDIATE", err);

	if (rc == 0)
		rc = db_script(db, migrations[from], err);
	if (rc == 0)
		rc = db_script(db, tail, err);
	if (rc == -1 && db_in_transaction(db))
		(void)db_script(db, "ROLLBACK", NULL);	/* err tells the cause */
	mem_free(tail);
	return rc;
}

int
schema_migrate(struct db *db, struct err *err)
{
	int64_t version = 0;

	if (schema_version(db, &version, err) == -1)
		return -1;
	for (; version < SCHEMA_VERSION; version++)
		if (migrate_step(db, version, err) == -1)
			return err_wrap(err, "migrate the database to version %d",
			    (int)version + 1);
	return 0;
}

int
schema_check(struct db *db, struct err *err)
{
	int64_t version = 0;

	if (schema_version(db, &version, err) == -1)
		return -1;
	if (version != SCHEMA_VERSION)
		return err_set(err, ERR_CONFIG, "this database has version %d: "
		    "`gatehouse run` brings it to %d", (int)version,
		    SCHEMA_VERSION);
	return 0;
}
