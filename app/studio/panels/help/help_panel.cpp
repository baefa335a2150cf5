// SPDX-License-Identifier: Apache-2.0
#include "app/studio/panels/help/help_panel.h"

#include "app/studio/session/sample_model.h"

#include <QAction>
#include <QDir>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QSaveFile>
#include <QStandardPaths>
#include <QTextBlock>
#include <QVBoxLayout>

namespace fuselage::studio {

namespace {

/// A copy that a person may change; one that is there stays. Empty: it cannot be written.
QString writeRule(const QString& embedded) {
    const QString path =
        QStandardPaths::writableLocation(QStandardPaths::AppDataLocation) + '/' + embedded;
    if (QFileInfo::exists(path))
        return path;
    QDir().mkpath(QFileInfo(path).path());
    QSaveFile file(path);
    const QByteArray text = helpFile(embedded).toUtf8();
    const bool written =
        file.open(QFile::WriteOnly) && file.write(text) == text.size() && file.commit();
    return written ? path : QString();
}

constexpr int pageRole = Qt::UserRole, sectionRole = Qt::UserRole + 1;

} // namespace

HelpPanel::HelpPanel(Workbench& workbench, QWidget* parent)
    : QWidget(parent), m_workbench(workbench), m_search(new QLineEdit(this)),
      m_list(new QListWidget(this)), m_text(new QTextBrowser(this)),
      m_open(new QPushButton(tr("Open this example"), this)),
      m_back(new QPushButton(tr("Usual options again"), this)),
      m_words(new SaidLabel(tr("options of the example"), this)) {
    m_search->setPlaceholderText(tr("search help: words of a section"));
    m_search->setClearButtonEnabled(true);
    m_search->setAccessibleName(tr("search help"));
    m_list->setAccessibleName(tr("pages of help"));
    m_list->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff); // titles end in dots instead
    m_text->setAccessibleName(tr("help"));
    m_text->setOpenLinks(false);
    m_text->setTabChangesFocus(true);
    m_words->setWordWrap(true);
    m_words->hide();
    m_back->hide();
    m_open->hide(); // until a page is an example
    auto* buttons = new QHBoxLayout;
    buttons->addWidget(m_open);
    buttons->addWidget(m_back);
    buttons->addStretch(1);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(4, 4, 4, 4);
    column->addWidget(m_search);
    column->addWidget(m_list, 2);
    column->addLayout(buttons);
    column->addWidget(m_words);
    column->addWidget(m_text, 5);
    setFocusProxy(m_search);
    connect(m_search, &QLineEdit::textChanged, this, &HelpPanel::fillList);
    connect(m_search, &QLineEdit::returnPressed, this, [this] {
        if (m_list->count() > 0)
            m_list->setCurrentRow(0);
        m_text->setFocus();
    });
    connect(m_list, &QListWidget::currentItemChanged, this, [this](QListWidgetItem* item) {
        if (item)
            showPage(item->data(pageRole).toInt(), item->data(sectionRole).toString());
    });
    connect(m_text, &QTextBrowser::anchorClicked, this, &HelpPanel::follow);
    connect(m_open, &QPushButton::clicked, this, &HelpPanel::openExample);
    connect(m_back, &QPushButton::clicked, this, [this] { m_workbench.session.takeBackOptions(); });
    connect(&m_workbench.session, &Session::lentChanged, m_back, &QWidget::setVisible);
    connect(&m_workbench.session, &Session::lentChanged, m_words, &QWidget::setVisible);
    fillList();
}

/// All pages, or the sections that were found.
void HelpPanel::fillList() {
    const QString words = m_search->text().trimmed();
    m_list->clear();
    auto add = [this](const QString& text, int page, const QString& section) {
        auto* item = new QListWidgetItem(text, m_list);
        item->setData(pageRole, page);
        item->setData(sectionRole, section);
        item->setToolTip(text);
    };
    if (words.isEmpty())
        for (int page = 0; page < helpPages().size(); ++page)
            add(helpPages()[page].title, page, {});
    for (const HelpHit& hit : findHelp(words))
        add(hit.section.isEmpty() ? helpPages()[hit.page].title
                                  : tr("%1 - %2").arg(hit.section, helpPages()[hit.page].title),
            hit.page, hit.section);
    if (m_list->count() == 0) {
        auto* none = new QListWidgetItem(tr("nothing found; try fewer words"), m_list);
        none->setFlags(Qt::NoItemFlags);
    }
}

void HelpPanel::showPage(int page, const QString& section) {
    const HelpPage& shown = helpPages()[page];
    if (page != m_page) {
        m_page = page;
        m_text->setMarkdown(QStringLiteral("# %1\n%2").arg(shown.title, shown.markdown));
    }
    m_open->setVisible(shown.isExample());
    m_open->setToolTip(shown.rule.isEmpty()
                           ? shown.network
                           : tr("%1 with %2").arg(shown.network, QFileInfo(shown.rule).fileName()));
    if (section.isEmpty() || !scrollTo(slugOf(section)))
        m_text->moveCursor(QTextCursor::Start);
}

bool HelpPanel::scrollTo(const QString& slug) {
    for (QTextBlock block = m_text->document()->begin(); block.isValid(); block = block.next())
        if (block.blockFormat().headingLevel() > 0 && slugOf(block.text()) == slug) {
            m_text->moveCursor(QTextCursor::End); // so that the heading comes to the top
            QTextCursor cursor(block);
            m_text->setTextCursor(cursor);
            return true;
        }
    return false;
}

/// To another page or section; what has no page here is in the source tree.
void HelpPanel::follow(const QUrl& link) {
    const QString folder = QFileInfo(helpPages()[m_page].path).path();
    const QString path = QDir::cleanPath(folder + '/' + link.path());
    if (link.path().isEmpty())
        return (void)scrollTo(link.fragment());
    for (int page = 0; page < helpPages().size(); ++page)
        if (helpPages()[page].path == path) {
            showPage(page);
            (void)scrollTo(link.fragment());
            return;
        }
    m_words->setText(link.scheme().isEmpty() ? tr("in the source tree: %1").arg(path)
                                             : link.toString());
    m_words->show();
}

void HelpPanel::stepTour(int direction) {
    int examples = 0;
    for (const HelpPage& page : helpPages())
        examples += page.isExample();
    const bool inTour = m_page >= 0 && m_page < examples;
    m_search->clear();
    m_list->setCurrentRow(!inTour ? 0 : (m_page + direction + examples) % examples);
}

void HelpPanel::openExample() {
    const HelpPage page = helpPages()[m_page];
    m_open->setEnabled(false);
    m_words->setText(tr("making %1 ...").arg(page.network));
    m_words->show();
    m_lane.start([this, page](Progress&) -> JobLane::Delivery {
        const bool made = makeSample(page.network);
        const QString rule = page.rule.isEmpty() ? QString() : writeRule(page.rule);
        return [this, page, made, rule] {
            m_open->setEnabled(true);
            if (made && (page.rule.isEmpty() || !rule.isEmpty()))
                return take(page, rule);
            m_words->setText(
                tr("the example cannot be written below %1 or %2")
                    .arg(QFileInfo(sampleFile(page.network)).path(),
                         QStandardPaths::writableLocation(QStandardPaths::AppDataLocation)));
        };
    });
}

/// With the options of the example's commands; those from before come back by a button, or with the
/// next model.
void HelpPanel::take(const HelpPage& page, const QString& rule) {
    Session& session = m_workbench.session;
    SessionOptions options = session.optionsToKeep();
    options.rules.builtin = page.builtin;
    options.rules.paths.clear();
    if (!rule.isEmpty())
        options.rules.paths.push_back(rule.toStdString());
    if (!page.device.isEmpty())
        options.device = page.device;
    options.fuse.decide = page.byCost ? Decide::Cost : Decide::Rules;
    options.fuse.dims.clear();
    session.openLent(sampleFile(page.network), options);
    if (!rule.isEmpty())
        Q_EMIT session.placeWanted(rule, 0);
    QStringList said;
    said << (rule.isEmpty() ? tr("the library's rules")
             : page.builtin ? tr("%1 beside the library").arg(QFileInfo(rule).fileName())
                            : tr("%1 without the library").arg(QFileInfo(rule).fileName()));
    if (!page.device.isEmpty())
        said << tr("decided for %1").arg(page.device);
    if (!page.byCost)
        said << tr("every legal match is taken");
    m_words->setText(tr("%1: %2").arg(page.network, said.join(QStringLiteral(", "))));
}

QWidget* makeHelpPanel(Workbench& workbench, QWidget* parent) {
    auto* panel = new HelpPanel(workbench, parent);
    auto show = [&workbench] {
        if (QAction* raise = workbench.commands.find("panel.help"))
            raise->trigger();
    };
    workbench.commands.add({"help.tour", "Help", QObject::tr("Tour: next worked example"), {}},
                           [panel, show] {
                               show();
                               panel->stepTour(1);
                           });
    workbench.commands.add({"help.tourBack", "Help", QObject::tr("Tour: example before"), {}},
                           [panel, show] {
                               show();
                               panel->stepTour(-1);
                           });
    workbench.commands.add({"help.language", "Help", QObject::tr("Language reference"), {}},
                           [panel, show] {
                               show();
                               for (int page = 0; page < helpPages().size(); ++page)
                                   if (helpPages()[page].path == QStringLiteral("dsl/README.md"))
                                       panel->showPage(page);
                           });
    return panel;
}

} // namespace fuselage::studio
