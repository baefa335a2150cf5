// SPDX-License-Identifier: Apache-2.0
// The Language Server Protocol over .fuse texts: one JSON message in, any number out. Answers come
// from dsl/service; this room translates. Knows no streams: see stdio.h.
#pragma once

#include "dsl/service/service.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace fuselage::lsp {

struct ServerOptions {
    std::string model;       ///< to count matches on; empty: what the project or client names
    dsl::ServiceWords words; ///< for completion
    bool checks = false;     ///< lints and proofs of rules, on a thread of their own
};

class Server {
public:
    /// `send` gets each JSON body that goes to the client.
    Server(ServerOptions options, std::function<void(std::string)> send);
    ~Server();

    /// One message of the client, in order. Anything may be in it.
    void handle(std::string_view body);

    /// The same in two steps: a request that waits is cancelled by a message that comes after it.
    void receive(std::string_view body);
    bool hasWaiting() const;
    void handleNext();

    /// Work that waits until no message does: diagnostics of the newest texts.
    void idle();
    bool hasIdleWork() const;

    /// The exit code once the client asked to exit: 0 after `shutdown`, else 1.
    std::optional<int> exitCode() const;

    struct State; ///< what the room's files share

private:
    std::unique_ptr<State> m_state;
};

} // namespace fuselage::lsp
