// SPDX-License-Identifier: Apache-2.0
#include "app/studio/layout/worker.h"

#include "app/studio/layout/dot.h"

#include <unistd.h>

namespace fuselage::studio {

namespace {

bool writeAll(const QByteArray& bytes) {
    for (qsizetype at = 0; at < bytes.size();) {
        ssize_t written =
            ::write(STDOUT_FILENO, bytes.constData() + at, static_cast<size_t>(bytes.size() - at));
        if (written <= 0)
            return false;
        at += written;
    }
    return true;
}

} // namespace

int runLayoutWorker() {
    QByteArray bytes;
    char chunk[1 << 16];
    while (true) {
        qsizetype size = 0;
        FrameState state = frameState(bytes, size);
        if (state == FrameState::Broken)
            return 1;
        if (state == FrameState::Complete) {
            auto job = jobOf(bytes.left(size));
            bytes.remove(0, size);
            auto result = job ? dotLayout(*job) : std::nullopt;
            if (!result || !writeAll(resultFrame(*result)))
                return 1;
            continue;
        }
        ssize_t got = ::read(STDIN_FILENO, chunk, sizeof chunk);
        if (got <= 0)
            return bytes.isEmpty() ? 0 : 1;
        bytes.append(chunk, static_cast<qsizetype>(got));
    }
}

} // namespace fuselage::studio
