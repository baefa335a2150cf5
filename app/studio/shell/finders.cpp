// SPDX-License-Identifier: Apache-2.0
#include "app/studio/shell/finders.h"

#include "app/report/report_scene.h"
#include "app/studio/item_models/query.h"

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

/// What a query may ask of a node.
struct Candidate {
    QString name, op, type, dtype, rule, fusedNode, verdict;
    double seconds = -1, bytes = -1;

    QVariant field(const QString& key) const {
        if (key.isEmpty())
            return QStringList{name, op, rule, verdict}.join('\n');
        if (key == "op")
            return op;
        if (key == "name")
            return name;
        if (key == "shape" || key == "type")
            return type;
        if (key == "dtype")
            return dtype;
        if (key == "rule")
            return rule;
        if (key == "verdict")
            return verdict;
        if (key == "us" && seconds >= 0)
            return seconds * 1e6;
        if (key == "bytes" && bytes >= 0)
            return bytes;
        return {};
    }
};

std::vector<Candidate> candidatesOf(const app::Report& report) {
    scene::SideFigures figures = app::figuresOf(report);
    std::map<std::string, const app::MatchReport*> matchOf;
    for (const app::MatchReport& match : report.matches)
        for (const std::string& node : match.nodes)
            matchOf[node] = &match;
    std::vector<Candidate> out;
    const app::GraphReport& graph = report.before.graph;
    for (const app::GraphNodeReport& node : graph.nodes) {
        Candidate each;
        each.name = QString::fromStdString(node.name);
        each.op = QString::fromStdString(node.op);
        if (!node.outputs.empty() && node.outputs[0] != app::GraphNodeReport::omitted) {
            each.type = QString::fromStdString(graph.values[node.outputs[0]].type);
            each.dtype = QString::fromStdString(graph.values[node.outputs[0]].dtype);
        }
        if (auto found = matchOf.find(node.name); found != matchOf.end()) {
            each.rule = QString::fromStdString(found->second->rule);
            each.fusedNode = QString::fromStdString(found->second->fusedNode);
            if (found->second->slower())
                each.verdict = QStringLiteral("slower");
        }
        if (auto found = figures.before.find(node.name); found != figures.before.end()) {
            each.seconds = found->second.seconds;
            each.bytes = found->second.bytes;
        }
        out.push_back(std::move(each));
    }
    return out;
}

} // namespace

Chooser* openPalette(CommandTable& commands, QWidget* parent) {
    auto find = [&commands](const QString& text) {
        QList<Choice> out;
        for (size_t i = 0; i < commands.all().size(); ++i) {
            const CommandTable::Entry& entry = commands.all()[i];
            if (entry.action->isEnabled() && fuzzyMatch(entry.row.title, text))
                out.append({entry.row.title, keysOf(entry), static_cast<int>(i)});
        }
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
    auto nodes = std::make_shared<std::vector<Candidate>>();
    auto hits = std::make_shared<QStringList>();
    if (const app::Report* report = workbench.session.report())
        *nodes = candidatesOf(*report);
    auto find = [nodes, hits](const QString& text) {
        QList<Choice> out;
        Query query(text);
        hits->clear();
        for (size_t i = 0; i < nodes->size(); ++i) {
            const Candidate& node = (*nodes)[i];
            if (query.matches([&](const QString& key) { return node.field(key); }))
                out.append({node.name, node.op + "  " + node.type + "  " + node.rule,
                            static_cast<int>(i)});
        }
        if (!query.empty())
            for (const Choice& choice : out)
                hits->append(choice.title);
        return out;
    };
    auto* finder = new Chooser(
        QObject::tr("Find nodes"),
        QObject::tr(
            "words, op:Conv, shape:1,64, dtype:float, rule:NAME, \"not fused\", slower, us>10, "
            "bytes>1M, -op:Cast"),
        find,
        [nodes, &workbench](int id) {
            workbench.selection.selectBefore({(*nodes)[static_cast<size_t>(id)].name});
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
                     [hits, &workbench] { workbench.marks.setHits(*hits); });
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
