// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace fuselage::cli {

/// Call first in main(): from here on memory that there is not is thrown as std::bad_alloc on this
/// thread, and ends the program with its exit code and a message on others; so does a mapped file
/// that another program makes shorter.
void endInWords();

} // namespace fuselage::cli
