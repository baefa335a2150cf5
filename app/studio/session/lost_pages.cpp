// SPDX-License-Identifier: Apache-2.0
#include "app/studio/session/lost_pages.h"

#include "app/studio/session/session.h"

#include <QSocketNotifier>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace fuselage::studio {

namespace {

const QString code = QStringLiteral("load.external_shorter");
std::atomic<int> teller{-1}; ///< where the handler writes
std::atomic<bool> isAnyLost{false};

/// Calls only what a handler may: mmap is a system call.
void putZeros(int, siginfo_t* info, void*) {
    if (info->si_code != BUS_ADRERR) { // no file: a person's signal, broken memory
        ::signal(SIGBUS, SIG_DFL);
        ::raise(SIGBUS);
        return;
    }
    const int before = errno;
    isAnyLost.store(true);
    const auto size = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    auto* page = reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(info->si_addr) & ~(size - 1));
    if (::mmap(page, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
               0) == MAP_FAILED)
        ::signal(SIGBUS, SIG_DFL); // reading it again ends the program
    (void)!::write(teller.load(), "x", 1);
    errno = before;
}

} // namespace

LostPages::LostPages(Session& session) : m_session(session) {
    if (::pipe2(m_ends, O_CLOEXEC | O_NONBLOCK) != 0)
        return;
    teller.store(m_ends[1]);
    auto* notifier = new QSocketNotifier(m_ends[0], QSocketNotifier::Read, this);
    connect(notifier, &QSocketNotifier::activated, this, &LostPages::say);
    connect(&session, &Session::modelOpened, this, [this] {
        isAnyLost.store(false);
        m_session.removeProblems(code);
    });
    struct sigaction action {};
    action.sa_sigaction = putZeros;
    action.sa_flags = SA_SIGINFO;
    ::sigaction(SIGBUS, &action, nullptr);
}

LostPages::~LostPages() {
    ::signal(SIGBUS, SIG_DFL);
    teller.store(-1);
    for (int end : m_ends)
        if (end >= 0)
            ::close(end);
}

bool LostPages::any() {
    return isAnyLost.load();
}

void LostPages::say() {
    char some[256];
    while (::read(m_ends[0], some, sizeof some) > 0) {
    }
    m_session.removeProblems(code);
    m_session.addProblem({Severity::Warning, code,
                          tr("a data file of the model became shorter while it was open; what is "
                             "gone reads as zeros"),
                          tr("load the model again when it is whole"), m_session.modelPath()});
}

} // namespace fuselage::studio
