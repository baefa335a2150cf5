// SPDX-License-Identifier: Apache-2.0
// How this process keeps freed memory: graphs are made and taken apart by the hundred thousand
// small pieces, again with each edit of a rule. mimalloc, where it is linked, would give the pages
// back and ask for them anew (an eighth of an edit's time); glibc's fast bins cost a tenth of the
// time in joining them again and again.
#pragma once

#include <cstdlib> // tells which library it is

#ifdef FUSELAGE_MIMALLOC
#include <mimalloc.h>
#elif defined(__GLIBC__)
#include <malloc.h>
#endif

namespace fuselage::studio {

/// Call first in main().
inline void prepareAllocator() {
#ifdef FUSELAGE_MIMALLOC
    constexpr long keptMilliseconds = 10'000; // from one edit to the next
    mi_option_set_default(mi_option_decommit_delay, keptMilliseconds);
    mi_option_set_default(mi_option_segment_decommit_delay, keptMilliseconds);
    mi_option_set_enabled_default(mi_option_page_reset, false);
    mi_option_set_enabled_default(mi_option_large_os_pages, true);
#elif defined(__GLIBC__)
    mallopt(M_MXFAST, 0);
#endif
}

} // namespace fuselage::studio
