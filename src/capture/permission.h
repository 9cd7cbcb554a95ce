/* May the recorder read the memory of other processes?  And if not, why, and who could permit it.
 */
#ifndef CAPTURE_PERMISSION_H
#define CAPTURE_PERMISSION_H

#include <stdbool.h>
#include <stddef.h>

/* /proc/sys/kernel/NAME below `root`, a number; 0 where it cannot be read. */
long kernel_setting(const char *root, const char *name);

/* Tries it, on a child of our own: 0, or the errno. */
int permission_to_read(void);

/* Does this errno of process_vm_readv() say that it is forbidden, and will be? */
bool permission_is_refused(int error);

/* Who refuses with this errno what others are allowed, in a few words; and what would help. */
struct permission_refusal {
	char why[128];
	const char *fix;
};
struct permission_refusal permission_refusal(const char *root, int error);

#endif
