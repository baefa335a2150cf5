// SPDX-License-Identifier: Apache-2.0
// The language service in the background: texts go in as they are typed, what is known about them
// comes back in characters, and questions are answered later. Nothing here blocks the window.
#pragma once

#include "app/studio/session/job_lane.h"
#include "dsl/service/service.h"

#include <QHash>
#include <QObject>
#include <memory>

namespace fuselage::studio {

/// A mistake in a text, in characters.
struct Mistake {
    int begin = 0, end = 0;
    Severity severity = Severity::Error;
    QString code, message, fix;
};

struct Coloured {
    int begin = 0, end = 0;
    dsl::Colour colour = dsl::Colour::Mark;
};

struct Foldable {
    int begin = 0, end = 0; ///< both braces
};

/// What is known about one text.
struct TextFacts {
    QString text; ///< that it is about
    std::vector<Coloured> colours;
    std::vector<Mistake> mistakes;
    std::vector<Foldable> folds;
};

using TextFactsPtr = std::shared_ptr<const TextFacts>;

class Language : public QObject {
    Q_OBJECT

public:
    explicit Language(QObject* parent = nullptr);
    ~Language() override;

    /// Opens or replaces a text; `analysed` follows.
    void set(const QString& file, const QString& text, const QString& importPath = {});
    void remove(const QString& file);

    /// Folders where imports are looked up that no text here offers; for what is set from now on.
    void lookIn(std::vector<std::string> folders);

    bool busy() const { return m_analysis.busy() || m_questions.busy(); }

    using Answer = std::function<void()>;
    /// Runs `question` in the background and what it returns here, unless another was asked since.
    void ask(std::function<Answer(dsl::LanguageService&)> question);

Q_SIGNALS:
    void analysed(const QString& file, const TextFactsPtr& facts);

private:
    struct Shared;

    void analyse();

    std::shared_ptr<Shared> m_shared;
    QStringList m_changed; ///< texts whose facts are wanted
    JobLane m_analysis, m_questions;
};

/// What the service knows of the text under that name.
TextFacts factsOf(dsl::LanguageService& service, const std::string& name);

} // namespace fuselage::studio
