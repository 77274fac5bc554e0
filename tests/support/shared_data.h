/* tests/support/shared_data.h: the official test suites, which lie outside the repository.
 *
 * TW_SHARED_DATA comes from the CMake variable TOOLWIRE_SHARED_DATA; tests/support/files.h reads
 * them. */
#pragma once

/* ctest shows this exit status as "Skipped". */
#define SHARED_DATA_SKIPPED 77

/* If TW_SHARED_DATA/folder is absent, says so on stdout and ends the test program as skipped. */
void shared_data_require(const char *root, const char *folder);
