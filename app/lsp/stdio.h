// SPDX-License-Identifier: Apache-2.0
// The server on two descriptors.
#pragma once

#include "app/lsp/server.h"

namespace fuselage::lsp {

/// Serves until the client exits or closes its end. Returns the client's exit code; error
/// "lsp.frame" when the stream cannot be followed, "lsp.closed" when it ends without `exit`.
Result<int> serve(ServerOptions options, int input, int output);

} // namespace fuselage::lsp
