// SPDX-License-Identifier: Apache-2.0
#include "app/studio/layout/dot_layout.h"

#include "core/support/file.h"

#include <QCoreApplication>
#include <QCryptographicHash>
#include <QDir>
#include <QElapsedTimer>
#include <QStandardPaths>

namespace fuselage::studio {

namespace {

constexpr int pollMilliseconds = 10;
constexpr qsizetype mostCached = 4000; ///< files
constexpr size_t leastItems = 3;       ///< smaller ones look alike whoever places them

void prune(const QString& folder) {
    QDir files(folder);
    QStringList names = files.entryList(QDir::Files, QDir::Time); // newest first
    for (qsizetype i = mostCached; i < names.size(); ++i)
        files.remove(names[i]);
}

} // namespace

bool dotIsBuiltIn() {
#ifdef FUSELAGE_HAVE_GRAPHVIZ
    return true;
#else
    return false;
#endif
}

QString layoutCacheFolder() {
    return QStandardPaths::writableLocation(QStandardPaths::GenericCacheLocation) +
           QStringLiteral("/fuselage/layout");
}

DotLayout::DotLayout(DotOptions options) : m_options(std::move(options)) {
    if (m_options.program.isEmpty()) {
        m_options.program = QCoreApplication::applicationDirPath() + "/fuselage-studio";
        m_options.arguments = QStringList{QStringLiteral("--layout-worker")};
    }
    if (!m_options.cache.isEmpty())
        QDir().mkpath(m_options.cache);
}

DotLayout::~DotLayout() {
    end();
    if (m_used && !m_options.cache.isEmpty())
        prune(m_options.cache);
}

Result<scene::LayoutResult> DotLayout::layout(const scene::LayoutRequest& request,
                                              Progress& progress) {
    if (progress.cancelled())
        return cancelledFailure("layout");
    scene::LinearLayout linear;
    if (request.sizes.size() < leastItems || request.edges.empty())
        return linear.layout(request, progress);
    LayoutJob job{Effort::Full, request};
    QByteArray key = jobFrame(job);
    if (!m_options.cache.isEmpty())
        if (auto bytes = readFile(cacheFile(key).toStdString())) {
            QByteArray frame = QByteArray::fromStdString(*bytes);
            qsizetype size = 0;
            if (frameState(frame, size) == FrameState::Complete && size == frame.size())
                if (auto result = resultOf(frame, request))
                    return std::move(*result);
        }
    for (Effort effort : {Effort::Full, Effort::Limited}) {
        if (m_broken || m_spent > m_options.totalMilliseconds)
            break;
        job.effort = effort;
        scene::LayoutResult result;
        Answer answer = ask(job, result, progress);
        if (progress.cancelled())
            return cancelledFailure("layout");
        if (answer == Answer::Good) {
            if (!m_options.cache.isEmpty()) // a cache that cannot be written is no trouble
                (void)writeFile(resultFrame(result).toStdString(), cacheFile(key).toStdString());
            return result;
        }
        m_broken = m_broken || answer == Answer::Dead;
    }
    if (m_trouble.isEmpty())
        m_trouble = QObject::tr("dot needed too long for %1 nodes").arg(request.sizes.size());
    return linear.layout(request, progress);
}

DotLayout::Answer DotLayout::ask(const LayoutJob& job, scene::LayoutResult& result,
                                 Progress& progress) {
    if (!m_process && !start())
        return Answer::Dead;
    m_used = true;
    QElapsedTimer time;
    time.start();
    m_process->write(jobFrame(job));
    QByteArray bytes;
    Answer answer = Answer::Timeout;
    while (!progress.cancelled() && time.elapsed() < m_options.milliseconds) {
        m_process->waitForReadyRead(pollMilliseconds);
        bytes += m_process->readAllStandardOutput();
        qsizetype size = 0;
        FrameState state = frameState(bytes, size);
        auto read = state == FrameState::Complete && size == bytes.size()
                        ? resultOf(bytes, job.request)
                        : std::nullopt;
        if (read) {
            result = std::move(*read);
            m_spent += time.elapsed();
            return Answer::Good;
        }
        if (state != FrameState::Partial) {
            m_trouble = QObject::tr("the layout worker answered with nonsense");
            answer = Answer::Dead;
            break;
        }
        if (m_process->state() == QProcess::NotRunning) {
            m_trouble = QObject::tr("the layout worker ended");
            answer = Answer::Dead;
            break;
        }
    }
    m_spent += time.elapsed();
    end(); // it may still be at work on this one
    return answer;
}

bool DotLayout::start() {
    m_process = std::make_unique<QProcess>();
    m_process->setStandardErrorFile(QProcess::nullDevice());
    m_process->start(m_options.program, m_options.arguments);
    if (m_process->waitForStarted(m_options.milliseconds))
        return true;
    m_trouble = QObject::tr("the layout worker cannot be started");
    m_process.reset();
    return false;
}

void DotLayout::end() {
    if (!m_process)
        return;
    m_process->kill();
    m_process->waitForFinished(1000);
    m_process.reset();
}

QString DotLayout::cacheFile(const QByteArray& frame) const {
    QByteArray hash = QCryptographicHash::hash(frame, QCryptographicHash::Sha256).toHex();
    return m_options.cache + '/' + QString::fromLatin1(hash);
}

} // namespace fuselage::studio
