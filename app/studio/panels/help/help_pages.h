// SPDX-License-Identifier: Apache-2.0
// Pages of help: the language, the library of rules and the examples, as their folders' READMEs
// say it, embedded; and what each example opens.
#pragma once

#include <QList>
#include <QString>
#include <QStringList>

namespace fuselage::studio {

struct HelpPage {
    QString path; ///< of the README in the source tree: links between pages name it
    QString title;
    QString markdown; ///< without its title
    QString network;  ///< of the zoo, that an example opens; empty: no example
    QString rule;     ///< path of its embedded .fuse file; empty: none
    QString device;   ///< profile for which it decides; empty: as it is
    bool builtin = true;
    bool byCost = true;

    bool isExample() const { return !network.isEmpty(); }
};

/// The examples in their order, then the references.
const QList<HelpPage>& helpPages();

/// An embedded file as it is in the source tree; null when there is none.
QString helpFile(const QString& path);

/// Where words were found: a section of a page.
struct HelpHit {
    int page = 0;
    QString section; ///< its heading; empty: the page's beginning
};

/// Sections that hold all words, those with all of them in the heading first.
QList<HelpHit> findHelp(const QString& words);

/// As links name a heading: "What a match is" -> "what-a-match-is".
QString slugOf(const QString& heading);

} // namespace fuselage::studio
