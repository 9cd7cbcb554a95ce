#include "import/nsys/sqlite_fd.h"

#include <errno.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/sql_sandbox.h"

#define VFS_NAME "inferscope-fd"
#define VALUE_MAX (64 << 20) /* bytes of a text or blob; a row with a longer one cannot be read */
#define CACHE_KIB 8192

struct fd_file {
	sqlite3_file base;
	int fd;
};

static int file_close(sqlite3_file *f)
{
	(void)f;
	return SQLITE_OK;
}

static int file_read(sqlite3_file *f, void *to, int n, sqlite3_int64 at)
{
	int fd = ((struct fd_file *)f)->fd, done = 0;

	while (done < n) {
		ssize_t got = pread(fd, (char *)to + done, (size_t)(n - done), at + done);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return SQLITE_IOERR_READ;
		if (!got) {
			memset((char *)to + done, 0, (size_t)(n - done));
			return SQLITE_IOERR_SHORT_READ;
		}
		done += (int)got;
	}
	return SQLITE_OK;
}

static int file_write(sqlite3_file *f, const void *from, int n, sqlite3_int64 at)
{
	(void)f;
	(void)from;
	(void)n;
	(void)at;
	return SQLITE_READONLY;
}

static int file_truncate(sqlite3_file *f, sqlite3_int64 size)
{
	(void)f;
	(void)size;
	return SQLITE_READONLY;
}

static uint32_t big_endian(const uint8_t *p, int bytes)
{
	uint32_t value = 0;

	while (bytes--)
		value = value << 8 | *p++;
	return value;
}

/*
 * Of a file that was cut, what its header says: SQLite refuses a file that is too short as a
 * whole.  Pages that are missing read as zeros, which damages only the tables that they are of.
 */
static int file_size(sqlite3_file *f, sqlite3_int64 *out)
{
	int fd = ((struct fd_file *)f)->fd;
	sqlite3_int64 page, said;
	uint8_t head[32];
	struct stat st;

	if (fstat(fd, &st))
		return SQLITE_IOERR_FSTAT;
	*out = st.st_size;
	if (pread(fd, head, sizeof(head), 0) != (ssize_t)sizeof(head))
		return SQLITE_OK;
	page = big_endian(head + 16, 2);
	said = (page == 1 ? 65536 : page) * (sqlite3_int64)big_endian(head + 28, 4);
	if (said > *out)
		*out = said;
	return SQLITE_OK;
}

/* Syncing and locking: there is nothing to do. */
static int file_nothing(sqlite3_file *f, int flags)
{
	(void)f;
	(void)flags;
	return SQLITE_OK;
}

static int file_reserved(sqlite3_file *f, int *out)
{
	(void)f;
	*out = 0;
	return SQLITE_OK;
}

static int file_control(sqlite3_file *f, int what, void *arg)
{
	(void)f;
	(void)what;
	(void)arg;
	return SQLITE_NOTFOUND;
}

static int file_sector(sqlite3_file *f)
{
	(void)f;
	return 4096;
}

static int file_nature(sqlite3_file *f)
{
	(void)f;
	return SQLITE_IOCAP_IMMUTABLE;
}

static const sqlite3_io_methods methods = {
	.iVersion = 1,
	.xClose = file_close,
	.xRead = file_read,
	.xWrite = file_write,
	.xTruncate = file_truncate,
	.xSync = file_nothing,
	.xFileSize = file_size,
	.xLock = file_nothing,
	.xUnlock = file_nothing,
	.xCheckReservedLock = file_reserved,
	.xFileControl = file_control,
	.xSectorSize = file_sector,
	.xDeviceCharacteristics = file_nature,
};

/* The name is the number of the descriptor. */
static int vfs_open(sqlite3_vfs *v, const char *name, sqlite3_file *f, int flags, int *out_flags)
{
	struct fd_file *file = (struct fd_file *)f;

	(void)v;
	file->base.pMethods = NULL;
	if (!name || !(flags & SQLITE_OPEN_MAIN_DB))
		return SQLITE_CANTOPEN;
	file->fd = (int)strtol(name, NULL, 10);
	file->base.pMethods = &methods;
	if (out_flags)
		*out_flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_MAIN_DB;
	return SQLITE_OK;
}

static int vfs_delete(sqlite3_vfs *v, const char *name, int sync)
{
	(void)v;
	(void)name;
	(void)sync;
	return SQLITE_IOERR_DELETE;
}

static int vfs_access(sqlite3_vfs *v, const char *name, int flags, int *out)
{
	(void)v;
	(void)name;
	(void)flags;
	*out = 0;
	return SQLITE_OK;
}

static int vfs_full_path(sqlite3_vfs *v, const char *name, int room, char *out)
{
	(void)v;
	snprintf(out, (size_t)room, "%s", name);
	return SQLITE_OK;
}

static sqlite3_vfs vfs = {
	.iVersion = 1,
	.szOsFile = sizeof(struct fd_file),
	.mxPathname = 32,
	.zName = VFS_NAME,
	.xOpen = vfs_open,
	.xDelete = vfs_delete,
	.xAccess = vfs_access,
	.xFullPathname = vfs_full_path,
};

static void vfs_register(void)
{
	const sqlite3_vfs *usual = sqlite3_vfs_find(NULL);

	if (!usual)
		return;
	vfs.xRandomness = usual->xRandomness;
	vfs.xSleep = usual->xSleep;
	vfs.xCurrentTime = usual->xCurrentTime;
	sqlite3_vfs_register(&vfs, 0);
}

/* Reading tables; the statements are ours and call no function. */
static int authorize(void *ctx, int action, const char *first, const char *second,
		     const char *database, const char *trigger)
{
	(void)ctx;
	(void)first;
	(void)second;
	(void)database;
	(void)trigger;
	return action == SQLITE_SELECT || action == SQLITE_READ ? SQLITE_OK : SQLITE_DENY;
}

static void harden(sqlite3 *db)
{
	static const struct sql_limit limits[] = {
		{ SQLITE_LIMIT_LENGTH, VALUE_MAX },  { SQLITE_LIMIT_SQL_LENGTH, 1 << 20 },
		{ SQLITE_LIMIT_EXPR_DEPTH, 100 },    { SQLITE_LIMIT_FUNCTION_ARG, 8 },
		{ SQLITE_LIMIT_COMPOUND_SELECT, 2 },
	};
	char cache[64];

	sql_sandbox(db, limits, sizeof(limits) / sizeof(*limits));
#if SQLITE_VERSION_NUMBER >= 3030000
	sqlite3_drop_modules(db, NULL);
#endif
	snprintf(cache, sizeof(cache), "PRAGMA cache_size = -%d", CACHE_KIB);
	sqlite3_exec(db, "PRAGMA cell_size_check = ON", NULL, NULL, NULL);
	sqlite3_exec(db, "PRAGMA temp_store = MEMORY", NULL, NULL, NULL);
	sqlite3_exec(db, cache, NULL, NULL, NULL);
	sqlite3_set_authorizer(db, authorize, NULL);
}

int sqlite_fd_open(struct sqlite3 **out, int fd, struct err *err)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	char name[16];
	int rc;

	*out = NULL;
	pthread_once(&once, vfs_register);
	snprintf(name, sizeof(name), "%d", fd);
	rc = sqlite3_open_v2(name, out, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, VFS_NAME);
	if (rc) {
		err_set(err, "cannot open SQLite: %s",
			rc == SQLITE_NOMEM || !*out ? "out of memory" : sqlite3_errmsg(*out));
		sqlite3_close(*out);
		*out = NULL;
		return -1;
	}
	harden(*out);
	return 0;
}
