// SPDX-License-Identifier: Apache-2.0
#include "app/studio/shell/menu_table.h"

#include <QCoreApplication>
#include <QHash>
#include <QMenu>
#include <QSet>

namespace fuselage::studio {

namespace {

/// An id; "view.overlay.*": all that begin so, in the submenu; nothing: a line.
struct MenuRow {
    const char* menu;
    const char* id = nullptr;
    const char* submenu = nullptr;
};

constexpr const char* recent = "recent"; ///< in place of an id

constexpr MenuRow menuRows[] = {
    {"File", "file.open"},
    {"File", recent, QT_TRANSLATE_NOOP("Menus", "Open recent")},
    {"File", "file.reload"},
    {"File"},
    {"File", "file.nextModel"},
    {"File", "file.previousModel"},
    {"File", "file.closeModel"},
    {"File"},
    {"File", "file.export"},
    {"File", "file.exportPicture"},
    {"File", "file.copyCommand"},
    {"File"},
    {"File", "file.quit"},
    {"Edit", "edit.undo"},
    {"Edit", "edit.redo"},
    {"Edit"},
    {"Edit", "edit.copyNames"},
    {"Select", "select.back"},
    {"Select", "select.forward"},
    {"Select", "select.none"},
    {"Select"},
    {"Select", "select.hotSpot"},
    {"Select", "match.next"},
    {"Select", "match.previous"},
    {"Select", "miss.next"},
    {"Select", "miss.previous"},
    {"Select"},
    {"Select", "step.*", QT_TRANSLATE_NOOP("Menus", "Steps")},
    {"View", "view.fit"},
    {"View", "view.fitSelection"},
    {"View", "view.zoomIn"},
    {"View", "view.zoomOut"},
    {"View", "view.around"},
    {"View", "view.reveal"},
    {"View", "walk.*", QT_TRANSLATE_NOOP("Menus", "Walk")},
    {"View"},
    {"View", "view.overlay.*", QT_TRANSLATE_NOOP("Menus", "Overlay")},
    {"View", "view.details"},
    {"View", "view.pairs"},
    {"View", "view.tunnels"},
    {"View"},
    {"View", "view.columns"},
    {"View", "view.dot"},
    {"View", "view.split"},
    {"View", "view.map"},
    {"View"},
    {"View", "perspective.*", QT_TRANSLATE_NOOP("Menus", "Perspective")},
    {"View", "panel.*", QT_TRANSLATE_NOOP("Menus", "Panels")},
    {"View", "view.layout"},
    {"View"},
    {"View", "view.appearance.*", QT_TRANSLATE_NOOP("Menus", "Appearance")},
    {"Rules", "match.disable"},
    {"Rules", "match.trial"},
    {"Rules", "match.enableAll"},
    {"Rules", "match.slower"},
    {"Rules"},
    {"Rules", "editor.derive"},
    {"Rules", "editor.generalise"},
    {"Rules", "find.similar"},
    {"Rules"},
    {"Rules", "editor.new"},
    {"Rules", "editor.save"},
    {"Rules", "editor.saveAs"},
    {"Rules", "editor.close"},
    {"Rules", "editor.recover"},
    {"Rules", "editor.discard"},
    {"Rules"},
    {"Rules", "editor.*", QT_TRANSLATE_NOOP("Menus", "Text")},
    {"Rules", "rules.previousChange"},
    {"Rules", "rules.nextChange"},
    {"Run", "run.measure"},
    {"Run", "run.errors"},
    {"Run", "work.cancel"},
    {"Run"},
    {"Run", "run.baseline"},
    {"Run"},
    {"Run", "run.dimensions"},
    {"Run", "run.options"},
    {"Find", "find.node"},
    {"Find", "find.next"},
    {"Find", "find.previous"},
    {"Find", "find.clear"},
    {"Find"},
    {"Find", "find.filter"},
    {"Find"},
    {"Find", "find.command"},
    {"Help", "help.tour"},
    {"Help", "help.tourBack"},
    {"Help", "help.language"},
    {"Help"},
    {"Help", "help.keys"},
    {"Help"},
    {"Help", "help.about"},
};

/// Marks the first letter that is still free, and takes it.
QString withMnemonic(const QString& title, QString& taken) {
    for (qsizetype i = 0; i < title.size(); ++i)
        if (title[i].isLetter() && !taken.contains(title[i], Qt::CaseInsensitive)) {
            taken += title[i];
            return title.left(i) + '&' + title.mid(i);
        }
    return title;
}

class Filling {
public:
    Filling(QMenuBar& bar, const CommandTable& commands) : m_bar(bar), m_commands(commands) {
        for (const MenuRow& row : menuRows) // what has a place of its own is in no submenu
            if (row.id)
                m_named.insert(QString::fromLatin1(row.id));
    }

    QMenu* run() {
        for (const MenuRow& row : menuRows)
            add(row);
        for (const CommandTable::Entry& entry : m_commands.all())
            if (!entry.row.menu.isEmpty() && !m_placed.contains(entry.row.id))
                menu(entry.row.menu)->addAction(entry.action);
        return m_recent;
    }

private:
    QMenu* menu(const QString& title) {
        QMenu*& out = m_menus[title];
        if (!out) {
            out = m_bar.addMenu(
                withMnemonic(QCoreApplication::translate("Menus", qPrintable(title)), m_letters));
            showReasons(*out);
        }
        return out;
    }

    void add(const MenuRow& row) {
        QMenu* at = menu(QString::fromLatin1(row.menu));
        if (!row.id)
            return at->addSeparator(), void();
        if (row.submenu && qstrcmp(row.id, recent) == 0) {
            m_recent = at->addMenu(QCoreApplication::translate("Menus", row.submenu));
            return;
        }
        const QString id = QString::fromLatin1(row.id);
        if (!row.submenu) {
            if (QAction* action = m_commands.find(id)) {
                at->addAction(action);
                m_placed.insert(id);
            }
            return;
        }
        QMenu* below = nullptr;
        for (const CommandTable::Entry& entry : m_commands.all()) {
            const QString& each = entry.row.id;
            if (!each.startsWith(id.chopped(1)) || entry.row.menu != QLatin1String(row.menu) ||
                m_named.contains(each))
                continue;
            if (!below) {
                below = at->addMenu(QCoreApplication::translate("Menus", row.submenu));
                showReasons(*below);
            }
            below->addAction(entry.action);
            m_placed.insert(each);
        }
    }

    QMenuBar& m_bar;
    const CommandTable& m_commands;
    QHash<QString, QMenu*> m_menus;
    QSet<QString> m_named, m_placed;
    QMenu* m_recent = nullptr;
    QString m_letters; ///< Alt with one of them opens a menu
};

} // namespace

QMenu* fillMenus(QMenuBar& bar, const CommandTable& commands) {
    return Filling(bar, commands).run();
}

} // namespace fuselage::studio
