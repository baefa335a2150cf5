// SPDX-License-Identifier: Apache-2.0
#include "app/studio/shell/finders.h"

#include "app/studio/shell/node_search.h"

#include <QHash>
#include <QTextBrowser>
#include <QTimer>
#include <QVBoxLayout>

namespace fuselage::studio {

namespace {

constexpr int markPause = 80; ///< milliseconds

QString keysOf(const CommandTable::Entry& entry) {
    QStringList keys;
    for (const QKeySequence& key : entry.row.keys)
        if (!key.isEmpty())
            keys << key.toString(QKeySequence::NativeText);
    return keys.join(", ");
}

} // namespace

Chooser* openPalette(CommandTable& commands, QWidget* parent) {
    auto find = [&commands](const QString& text) {
        Found out;
        for (size_t i = 0; i < commands.all().size(); ++i) {
            const CommandTable::Entry& entry = commands.all()[i];
            if (entry.action->isEnabled() && fuzzyMatch(entry.row.title, text))
                out.rows.append({entry.row.title, keysOf(entry), static_cast<int>(i), {}});
        }
        out.count = out.rows.size();
        return out;
    };
    auto* palette = new Chooser(
        QObject::tr("Commands"), QObject::tr("type a part of a command"), find,
        [&commands](int id) { commands.all()[static_cast<size_t>(id)].action->trigger(); }, parent);
    palette->setObjectName("palette");
    palette->open();
    return palette;
}

Chooser* openNodeFinder(Workbench& workbench, QWidget* parent) {
    auto nodes = std::make_shared<NodeSearch>();
    if (const app::Report* report = workbench.session.report())
        *nodes = NodeSearch(*report);
    auto* finder = new Chooser(
        QObject::tr("Find nodes"),
        QObject::tr(
            "words, op:Conv, shape:1,64, dtype:float, rule:NAME, \"not fused\", slower, us>10, "
            "bytes>1M, -op:Cast"),
        [nodes](const QString& text) { return nodes->find(text); },
        [nodes, &workbench](int id) {
            workbench.selection.selectBefore({nodes->name(id)});
            if (QAction* show = workbench.commands.find("view.reveal"))
                show->trigger();
        },
        parent);
    finder->setObjectName("finder");
    // The canvases follow when typing pauses; what was found stays marked until Shift+Escape there.
    auto* pause = new QTimer(finder);
    pause->setSingleShot(true);
    pause->setInterval(markPause);
    QObject::connect(pause, &QTimer::timeout, finder,
                     [nodes, &workbench] { workbench.marks.setHits(nodes->hits()); });
    QObject::connect(&finder->line(), &QLineEdit::textChanged, pause, qOverload<>(&QTimer::start));
    QObject::connect(finder, &QDialog::rejected, finder,
                     [&workbench] { workbench.marks.setHits({}); });
    finder->open();
    return finder;
}

QDialog* openCheatSheet(const CommandTable& commands, QWidget* parent) {
    QStringList menus;
    QHash<QString, QString> rows;
    for (const CommandTable::Entry& entry : commands.all()) {
        QString keys = keysOf(entry);
        if (keys.isEmpty())
            continue;
        if (!menus.contains(entry.row.menu))
            menus << entry.row.menu;
        rows[entry.row.menu] +=
            QStringLiteral("<tr><td><b>%1</b>&nbsp;&nbsp;</td><td>%2%3</td></tr>")
                .arg(keys.toHtmlEscaped(), entry.row.title.toHtmlEscaped(),
                     entry.row.scope == KeyScope::Canvas ? QObject::tr(" (on the graph)")
                                                         : QString());
    }
    QString html;
    for (const QString& menu : menus)
        html += QStringLiteral("<h3>%1</h3><table>%2</table>").arg(menu, rows[menu]);
    html +=
        QObject::tr("<h3>Mouse</h3><table><tr><td><b>drag</b></td><td>pan</td></tr>"
                    "<tr><td><b>Ctrl+wheel</b>&nbsp;&nbsp;</td><td>zoom</td></tr>"
                    "<tr><td><b>Shift+drag</b></td><td>select an area</td></tr>"
                    "<tr><td><b>double-click</b></td><td>open or shut a block</td></tr></table>");
    auto* sheet = new QDialog(parent);
    sheet->setObjectName("cheatSheet");
    sheet->setAttribute(Qt::WA_DeleteOnClose);
    sheet->setWindowTitle(QObject::tr("Keys"));
    sheet->resize(520, 640);
    auto* text = new QTextBrowser(sheet);
    text->setAccessibleName(QObject::tr("keys of every command"));
    text->setHtml(html);
    (new QVBoxLayout(sheet))->addWidget(text);
    sheet->open();
    return sheet;
}

} // namespace fuselage::studio
