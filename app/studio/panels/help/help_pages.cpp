// SPDX-License-Identifier: Apache-2.0
#include "app/studio/panels/help/help_pages.h"

#include <QRegularExpression>
#include <algorithm>
#include <string_view>

namespace fuselage::studio {

namespace {

struct Row {
    std::string_view name;
    std::string_view text;
};

constexpr Row rows[] = {
#include "help_pages.inc"
};

/// What the commands of an example's README say, as options.
struct Opened {
    const char* folder;
    const char* network;
    const char* rule;
    const char* device;
    bool builtin, byCost;
};

constexpr Opened examples[] = {
    {"examples/01-fused-conv", "resnet18", "", "", true, true},
    {"examples/02-first-rule", "mobilenet_v3_large", "squeeze_gate.fuse", "h200", false, true},
    {"examples/03-why-not", "unet", "relu_pool.fuse", "", false, false},
    {"examples/04-conditions", "convnext_tiny", "layer_scale.fuse", "", false, true},
    {"examples/05-attention", "bert_base", "attention.fuse", "t4", false, true},
    {"examples/06-quantize", "mobilenet_v3_large", "equalise.fuse", "", true, true},
    {"examples/07-attributes", "resnet18", "attributes.fuse", "", false, false},
    {"examples/08-own-operators", "mobilenet_v3_large", "own.fuse", "", false, false},
};

constexpr const char* references[] = {"dsl", "patterns"};

HelpPage pageOf(const QString& folder) {
    HelpPage out;
    out.path = folder + QStringLiteral("/README.md");
    QStringList lines = helpFile(out.path).split('\n');
    while (!lines.isEmpty() && !lines.first().startsWith(QStringLiteral("# ")))
        lines.removeFirst();
    if (!lines.isEmpty())
        out.title = lines.takeFirst().mid(2).remove('`');
    out.markdown = lines.join('\n');
    return out;
}

QList<HelpPage> makePages() {
    QList<HelpPage> out;
    for (const Opened& each : examples) {
        const QString folder = QString::fromLatin1(each.folder);
        HelpPage page = pageOf(folder);
        page.title = folder.section('/', 1).left(2) + QStringLiteral("  ") + page.title;
        page.network = QString::fromLatin1(each.network);
        if (*each.rule)
            page.rule = folder + '/' + QString::fromLatin1(each.rule);
        page.device = QString::fromLatin1(each.device);
        page.builtin = each.builtin;
        page.byCost = each.byCost;
        out << page;
    }
    for (const char* each : references)
        out << pageOf(QString::fromLatin1(each));
    return out;
}

struct Section {
    int page = 0;
    QString heading, text;
};

QList<Section> makeSections() {
    QList<Section> out;
    for (int page = 0; page < helpPages().size(); ++page) {
        out << Section{page, {}, helpPages()[page].title + '\n'};
        bool code = false; // a comment in it begins like a heading
        for (const QString& line : helpPages()[page].markdown.split('\n')) {
            code = line.startsWith(QStringLiteral("```")) ? !code : code;
            if (!code && line.startsWith('#'))
                out << Section{page, line.section(' ', 1).remove('`'), {}};
            out.last().text += line + '\n';
        }
    }
    return out;
}

bool holds(const QString& text, const QStringList& words) {
    return std::all_of(words.begin(), words.end(), [&](const QString& word) {
        return text.contains(word, Qt::CaseInsensitive);
    });
}

} // namespace

const QList<HelpPage>& helpPages() {
    static const QList<HelpPage> pages = makePages();
    return pages;
}

QString helpFile(const QString& path) {
    for (const Row& row : rows)
        if (path == QLatin1String(row.name.data(), static_cast<qsizetype>(row.name.size())))
            return QString::fromUtf8(row.text.data(), static_cast<qsizetype>(row.text.size()));
    return {};
}

QList<HelpHit> findHelp(const QString& words) {
    static const QList<Section> sections = makeSections();
    const QStringList wanted =
        words.split(QRegularExpression(QStringLiteral("\\s+")), Qt::SkipEmptyParts);
    QList<HelpHit> inHeading, inText;
    for (const Section& section : sections) {
        if (wanted.isEmpty() || !holds(section.heading + '\n' + section.text, wanted))
            continue;
        (holds(section.heading, wanted) ? inHeading : inText)
            << HelpHit{section.page, section.heading};
    }
    return inHeading + inText;
}

QString slugOf(const QString& heading) {
    QString out;
    for (QChar c : heading.toLower())
        if (c.isLetterOrNumber() || c == '-' || c == '_')
            out += c;
        else if (c == ' ')
            out += '-';
    return out;
}

} // namespace fuselage::studio
