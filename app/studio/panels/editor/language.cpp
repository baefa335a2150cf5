// SPDX-License-Identifier: Apache-2.0
#include "app/studio/panels/editor/language.h"

#include "app/pipeline/imports.h"
#include "app/studio/panels/editor/utf8_map.h"
#include "app/zoo/zoo.h"
#include "patterns/embedded.h"

#include <deque>
#include <mutex>
#include <optional>

namespace fuselage::studio {

namespace {

dsl::ServiceWords knownWords() {
    dsl::ServiceWords words;
    for (const zoo::ZooEntry& entry : zoo::models())
        words.zoo.push_back(entry.name);
    for (std::string_view path : embeddedPatternPaths())
        words.imports.emplace_back(path);
    return words;
}

struct Change {
    std::string name, text, importPath;
    bool removed = false;
    std::optional<dsl::ImportResolver> lookup = {}; ///< instead of a text
};

} // namespace

/// The service is used by one thread at a time; texts wait in a queue, so that nobody waits for it.
struct Language::Shared {
    std::mutex serviceLock;
    dsl::ImportResolver lookup = app::importLookup({});
    dsl::LanguageService service{[this](const std::string& path) { return lookup(path); },
                                 knownWords()};
    std::mutex queueLock;
    std::deque<Change> queue;

    void put(Change change) {
        std::lock_guard lock(queueLock);
        queue.push_back(std::move(change));
    }

    /// With the service locked.
    void takeChanges() {
        std::deque<Change> changes;
        {
            std::lock_guard lock(queueLock);
            changes.swap(queue);
        }
        for (Change& change : changes)
            if (change.lookup)
                lookup = std::move(*change.lookup);
            else if (change.removed)
                service.remove(change.name);
            else
                service.set(change.name, std::move(change.text), change.importPath);
    }
};

Language::Language(QObject* parent) : QObject(parent), m_shared(std::make_shared<Shared>()) {}

Language::~Language() = default;

void Language::set(const QString& file, const QString& text, const QString& importPath) {
    m_shared->put({file.toStdString(), text.toStdString(), importPath.toStdString()});
    if (!m_changed.contains(file))
        m_changed.append(file);
    analyse();
}

void Language::lookIn(std::vector<std::string> folders) {
    m_shared->put({{}, {}, {}, false, app::importLookup(std::move(folders))});
}

void Language::remove(const QString& file) {
    m_changed.removeAll(file);
    m_shared->put({file.toStdString(), {}, {}, true});
}

void Language::analyse() {
    m_analysis.start(
        [this, shared = m_shared, files = m_changed](Progress& progress) -> JobLane::Delivery {
            std::vector<std::pair<QString, TextFactsPtr>> found;
            for (const QString& file : files) {
                if (progress.cancelled())
                    return {};
                std::lock_guard lock(shared->serviceLock);
                shared->takeChanges();
                found.emplace_back(file, std::make_shared<const TextFacts>(
                                             factsOf(shared->service, file.toStdString())));
            }
            return [this, found] {
                m_changed.clear();
                for (const auto& [file, facts] : found)
                    Q_EMIT analysed(file, facts);
            };
        });
}

void Language::ask(std::function<Answer(dsl::LanguageService&)> question) {
    m_questions.start([shared = m_shared, question = std::move(question)](Progress&) {
        std::lock_guard lock(shared->serviceLock);
        shared->takeChanges();
        return question(shared->service);
    });
}

TextFacts factsOf(dsl::LanguageService& service, const std::string& name) {
    TextFacts out;
    if (!service.has(name))
        return out;
    out.text = QString::fromStdString(service.text(name));
    Utf8Map map(out.text);
    for (const dsl::Highlight& each : service.highlight(name))
        out.colours.push_back({map.character(each.begin), map.character(each.end), each.colour});
    for (const Diagnostic& each : service.diagnose(name)) {
        QString message = QString::fromStdString(each.message);
        auto isNew = [&](const std::string& words) { // the message often says it already
            return !words.empty() && each.message.find(words) == std::string::npos;
        };
        if (isNew(each.found))
            message += QStringLiteral(", found ") + QString::fromStdString(each.found);
        if (isNew(each.expected))
            message += QStringLiteral(", expected ") + QString::fromStdString(each.expected);
        out.mistakes.push_back({map.character(each.span.begin), map.character(each.span.end),
                                each.severity, QString::fromStdString(each.code), message,
                                QString::fromStdString(each.fix)});
    }
    for (const dsl::Fold& each : service.folds(name))
        out.folds.push_back({map.character(each.begin), map.character(each.end)});
    return out;
}

} // namespace fuselage::studio
