#include "import/import_file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>

int import_file_new(struct err *err)
{
	const char *folders[] = { getenv("TMPDIR"), "/tmp", "/var/tmp" };
	int fd = -1;

	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders) && fd < 0; i++)
		if (folders[i] && *folders[i])
			fd = open(folders[i], O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd < 0)
		fd = memfd_create("inferscope-import", MFD_CLOEXEC);
	return fd < 0 ? err_errno(err, "no folder for the imported trace") : fd;
}
