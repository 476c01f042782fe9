/* Tables and their migrations by PRAGMA user_version. */
#ifndef GATEHOUSE_STORE_SCHEMA_H
#define GATEHOUSE_STORE_SCHEMA_H

#include "base/err.h"
#include "store/db.h"

/* The newest version this program knows. */
#define SCHEMA_VERSION 4

/*
 * Brings the database to SCHEMA_VERSION, each step in a transaction of its own.
 * ERR_CONFIG: a foreign database, or one of a newer gatehouse; left untouched.
 */
int schema_migrate(struct db *db, struct err *err);

/* For a reader, which may not migrate: ERR_CONFIG unless it is our version. */
int schema_check(struct db *db, struct err *err);

#endif
