/* Put before every file that clang-tidy reads. Its analyser sees one file at a time and would
 * take it for possible that error_set returns 0, that is, that a function fails and says it did
 * not; then nearly every result after it looks uninitialised. */
#ifndef FFTD_TESTS_ANALYZER_H
#define FFTD_TESTS_ANALYZER_H

#include "core/error.h"

#define error_set(why, err, ...)    ((error_set)((why), (err), __VA_ARGS__), -(err))
#define error_prefix(why, err, ...) ((error_prefix)((why), (err), __VA_ARGS__), -(err))

#endif
