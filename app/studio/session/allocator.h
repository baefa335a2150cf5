// SPDX-License-Identifier: Apache-2.0
// How this process keeps freed memory where mimalloc is not linked: graphs are made and taken apart
// by the hundred thousand small pieces, and glibc's fast bins then cost a tenth of the time in
// joining them again and again.
#pragma once

#include <cstdlib> // tells which library it is

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace fuselage::studio {

/// Call first in main().
inline void prepareAllocator() {
#ifdef __GLIBC__
    mallopt(M_MXFAST, 0);
#endif
}

} // namespace fuselage::studio
