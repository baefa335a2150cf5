// SPDX-License-Identifier: Apache-2.0
// Reads what is there, answers it, and does idle work only when nothing more comes: of many edits
// only the last one is diagnosed.
#include "app/lsp/stdio.h"

#include "app/lsp/frame.h"

#include <cerrno>
#include <poll.h>
#include <unistd.h>

namespace fuselage::lsp {

namespace {

/// How long a person's typing must rest before the text is diagnosed.
constexpr int restMilliseconds = 40;

bool writeAll(int output, const std::string& bytes) {
    for (size_t done = 0; done < bytes.size();) {
        const ssize_t count = write(output, bytes.data() + done, bytes.size() - done);
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            return false;
        done += static_cast<size_t>(count);
    }
    return true;
}

/// Handles what waits; the exit code where the client asked to exit.
std::optional<int> handleAll(Server& server) {
    while (server.hasWaiting()) {
        server.handleNext();
        if (auto code = server.exitCode())
            return code;
    }
    return std::nullopt;
}

} // namespace

Result<int> serve(ServerOptions options, int input, int output) {
    bool writable = true;
    Server server(std::move(options), [&](const std::string& body) {
        writable = writable && writeAll(output, framed(body));
    });
    FrameReader reader;
    std::string bytes(size_t{64} << 10, '\0');
    while (writable) {
        pollfd source{input, POLLIN, 0};
        // All that came is read before the next message is handled: it may cancel it.
        const int rest = server.hasWaiting() ? 0 : server.hasIdleWork() ? restMilliseconds : -1;
        const int ready = poll(&source, 1, rest);
        if (ready == 0 && server.hasWaiting()) {
            server.handleNext();
            if (auto code = server.exitCode())
                return *code;
            continue;
        }
        if (ready == 0) {
            server.idle();
            continue;
        }
        const ssize_t count = ready < 0 ? -1 : read(input, bytes.data(), bytes.size());
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            break;
        reader.feed(std::string_view(bytes).substr(0, static_cast<size_t>(count)));
        for (;;) {
            auto body = reader.next();
            if (!body) {
                const auto code = handleAll(server);
                return code ? Result<int>(*code) : failure(body.error());
            }
            if (!*body)
                break;
            server.receive(**body);
        }
    }
    if (auto code = handleAll(server))
        return *code;
    return failure("lsp.closed", "the client closed the stream without `exit`");
}

} // namespace fuselage::lsp
