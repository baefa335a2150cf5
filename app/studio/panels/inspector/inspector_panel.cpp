// SPDX-License-Identifier: Apache-2.0
#include "app/studio/panels/inspector/inspector_panel.h"

#include "app/pipeline/kernel_text.h"
#include "app/studio/graph_view/colours.h"
#include "app/studio/graph_view/theme_watch.h"
#include "app/studio/panels/inspector/inspector_text.h"
#include "app/studio/session/pair_facts.h"

#include <QDialog>
#include <QFontDatabase>
#include <QPlainTextEdit>
#include <QRegularExpression>
#include <QSyntaxHighlighter>
#include <QTextBrowser>
#include <QVBoxLayout>

namespace fuselage::studio {

namespace {

/// Follows a link of the Inspector.
void follow(const QString& target, Workbench& workbench) {
    QString kind = target.section(':', 0, 0), rest = target.section(':', 1);
    if (kind == "node")
        workbench.selection.selectAny({rest});
    else if (kind == "rule")
        workbench.selection.selectRule(rest);
    else if (kind == "place")
        Q_EMIT workbench.session.placeWanted(rest.section(':', 0, -2),
                                             rest.section(':', -1).toInt());
}

std::string kernelTextOf(const Snapshot& snapshot, size_t kernel) {
    auto profile = deviceProfile(snapshot.device.toStdString());
    return profile ? app::kernelText(*snapshot.analysis.after.plan, kernel, *profile)
                   : profile.error().text();
}

/// Comments, numbers and words of types stand out; the rest is as it is.
class KernelHighlighter final : public QSyntaxHighlighter {
public:
    KernelHighlighter(QTextDocument* document, const QPalette& palette)
        : QSyntaxHighlighter(document), m_colours(palette) {}

protected:
    void highlightBlock(const QString& text) override {
        static const QRegularExpression number(QStringLiteral("\\b-?[0-9][0-9a-fx.e+]*\\b"));
        static const QRegularExpression word(QStringLiteral(
            "\\b(if|else|for|while|return|const|void|int|float|bool|auto|unsigned|struct|inline|"
            "read|write|load|store|loop|tape|reduce|grid|block)\\b"));
        static const QRegularExpression comment(QStringLiteral("(//|#).*$"));
        mark(text, number, "code.number");
        mark(text, word, "code.keyword");
        mark(text, comment, "code.comment");
    }

private:
    void mark(const QString& text, const QRegularExpression& what, const char* token) {
        for (auto found = what.globalMatch(text); found.hasNext();) {
            const QRegularExpressionMatch match = found.next();
            setFormat(static_cast<int>(match.capturedStart()),
                      static_cast<int>(match.capturedLength()), m_colours[token]);
        }
    }

    Colours m_colours;
};

/// The whole text of a kernel in a window of its own, which stays while one goes on.
void showKernelText(const Snapshot& snapshot, size_t kernel, QWidget* parent) {
    const auto& kernels = snapshot.report().after.kernels;
    if (kernel >= kernels.size())
        return;
    auto* window = new QDialog(parent);
    window->setObjectName("kernelText");
    window->setAttribute(Qt::WA_DeleteOnClose);
    window->setWindowTitle(
        QObject::tr("Kernel %1").arg(QString::fromStdString(kernels[kernel].name)));
    window->resize(900, 700);
    auto* text = new QPlainTextEdit(window);
    text->setAccessibleName(QObject::tr("text of the kernel"));
    text->setReadOnly(true);
    text->setLineWrapMode(QPlainTextEdit::NoWrap);
    text->setFont(QFontDatabase::systemFont(QFontDatabase::FixedFont));
    new KernelHighlighter(text->document(), text->palette());
    text->setPlainText(QString::fromStdString(kernelTextOf(snapshot, kernel)));
    (new QVBoxLayout(window))->addWidget(text);
    window->show();
}

} // namespace

QWidget* makeInspectorPanel(Workbench& workbench, QWidget* parent) {
    auto* browser = new QTextBrowser(parent);
    browser->setAccessibleName(QObject::tr("inspector"));
    browser->setOpenLinks(false);
    browser->setFrameShape(QFrame::NoFrame);
    auto texts = std::make_shared<bool>(false); // of kernels are shown
    auto* facts = new PairFacts(workbench.session, browser);
    auto show = [browser, texts, facts, &workbench] {
        const app::Report* report = workbench.session.report();
        const QStringList& nodes = workbench.selection.selection().before;
        std::vector<app::PairReport> pairs;
        if (report && touchesPairs(report->before.graph, nodes))
            pairs = facts->pairs();
        KernelTextOf textOf;
        if (*texts && workbench.session.snapshot())
            textOf = [snapshot = workbench.session.snapshot()](size_t kernel) {
                return kernelTextOf(*snapshot, kernel);
            };
        browser->setHtml(
            report ? inspectorHtml(*report, workbench.selection.selection(), textOf, pairs)
                   : QString());
    };
    QObject::connect(facts, &PairFacts::known, browser, show);
    QObject::connect(&workbench.session, &Session::reportChanged, browser, show);
    QObject::connect(&workbench.selection, &SelectionHub::changed, browser, show);
    whenThemeChanges(*browser, show);
    QObject::connect(browser, &QTextBrowser::anchorClicked, browser,
                     [browser, texts, show, &workbench](const QUrl& url) {
                         QString target = QUrl::fromPercentEncoding(url.toEncoded());
                         if (!target.startsWith("text:"))
                             return follow(target, workbench);
                         if (target.startsWith("text:window:")) {
                             if (const SnapshotPtr& snapshot = workbench.session.snapshot())
                                 showKernelText(*snapshot, target.section(':', 2).toUInt(),
                                                browser);
                             return;
                         }
                         *texts = target == "text:on";
                         show();
                     });
    show();
    return browser;
}

} // namespace fuselage::studio
