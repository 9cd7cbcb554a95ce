// A C++ program with scope guards, for tests/python/test_native_api.py; a second file of the
// same program is annotated_part.c.
#include <inferscope.h>

#include <cstdio>
#include <stdexcept>
#include <string>
#include <thread>

extern "C" int annotated_part(int n);

namespace
{
void throws()
{
	INFERSCOPE_SCOPE("throws");
	throw std::runtime_error("out of here");
}

void named(int i)
{
	const inferscope::scope guard(("built name " + std::to_string(i % 2)).c_str());
	inferscope_counter("depth", i);
}
} // namespace

int main()
{
	inferscope::scope whole("whole");

	try {
		throws();
	} catch (const std::runtime_error &) {
		inferscope_mark("caught");
	}
	for (int i = 0; i < 4; i++)
		named(i);
	// Begun in one thread, ended in another.
	inferscope_scope handed = inferscope_begin("handed over");
	std::thread other([handed] {
		inferscope_thread_name("other");
		inferscope_end(handed);
	});
	other.join();
	std::printf("%d %d\n", inferscope_is_recording(), annotated_part(3));
	return 0;
}
